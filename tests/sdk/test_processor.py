"""The live processor: announces, hurries, never blocks or raises, counts what it loses."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

import pytest
from kept_spans import KeptSpans
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import StatusCode

from tracejury._sdk import processor as processor_module
from tracejury._sdk import trouble
from tracejury._sdk.kinds import kind_of
from tracejury.sdk import LiveProcessor, agent, task

Started = Callable[..., tuple[TracerProvider, LiveProcessor]]


def test_a_span_is_announced_while_it_runs(started: Started, kept: KeptSpans) -> None:
    """What has begun is known with its name, parent and attributes before anything has ended."""
    provider, processor = started()
    tracer = provider.get_tracer("t")
    with tracer.start_as_current_span("manager", attributes={"agent.name": "m"}) as root:
        inner = tracer.start_span("search")
        assert processor.force_flush()
        assert kept.ended == []
        named = {span.name: span for span in kept.announced}
        assert set(named) == {"manager", "search"}
        manager, search = named["manager"], named["search"]
        assert manager.context == root.get_span_context()
        assert manager.attributes == {"agent.name": "m", "tracejury.pending": True}
        assert search.parent == root.get_span_context()
        assert search.resource == provider.resource
        assert search.start_time is not None
        assert search.end_time is not None
        assert search.start_time <= search.end_time
        inner.end()


def test_a_finished_span_is_sent_as_it_is(started: Started, kept: KeptSpans) -> None:
    """The mark of an announcement never stands on a finished span, and nothing is lost from it."""
    provider, processor = started()
    with provider.get_tracer("t").start_as_current_span("tool", attributes={"a": 1}) as span:
        assert processor.force_flush()
        span.add_event("seen", {"b": 2})
        span.set_status(StatusCode.ERROR, "broken")
    assert processor.force_flush()
    found = kept.one("tool")
    assert found.attributes == {"a": 1}
    assert [event.name for event in found.events] == ["seen"]
    assert (found.status.status_code, found.status.description) == (StatusCode.ERROR, "broken")


def test_a_span_that_ended_meanwhile_is_not_announced(started: Started, kept: KeptSpans) -> None:
    """Short spans cost one copy: announcing what is over says nothing."""
    provider, processor = started()
    kept.gate.clear()
    tracer = provider.get_tracer("t")
    first = tracer.start_span("first")
    assert kept.stalled.wait(30)
    tracer.start_span("short").end()
    kept.gate.set()
    assert processor.force_flush()
    assert [span.name for span in kept.announced] == ["first"]
    assert [span.name for span in kept.ended] == ["short"]
    first.end()


def test_what_is_learnt_later_is_announced_again(started: Started, kept: KeptSpans) -> None:
    """Many instrumentations write a span's attributes after its start."""
    provider, processor = started(interval=0.0)
    span = provider.get_tracer("t").start_span("chat")
    assert processor.force_flush()
    span.set_attribute("llm.model_name", "m")
    assert processor.force_flush()
    assert processor.force_flush()  # nothing new: nothing is said
    told = [dict(one.attributes or {}) for one in kept.announced]
    assert told == [{"tracejury.pending": True}, {"llm.model_name": "m", "tracejury.pending": True}]
    span.end()


@pytest.mark.parametrize(
    "mark",
    [
        {"openinference.span.kind": "TOOL"},
        {"openinference.span.kind": "AGENT"},
        {"gen_ai.operation.name": "execute_tool"},
        {"gen_ai.operation.name": "invoke_agent"},
        {"traceloop.span.kind": "tool"},
        {"ai.operationId": "ai.toolCall"},
        {"gen_ai.tool.name": "search"},
    ],
)
def test_tools_and_agents_are_sent_when_they_end(started: Started, kept: KeptSpans, mark: dict[str, str]) -> None:
    """Whoever watches sees a tool's outcome at once, not at the next interval (an hour, here)."""
    provider, _ = started(interval=3600.0)
    tracer = provider.get_tracer("t")
    arrived = threading.Event()
    export = kept.export

    def watched(spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = export(spans)
        if any(span.name == "work" for span in kept.ended):
            arrived.set()
        return result

    kept.export = watched  # type: ignore[method-assign]
    with tracer.start_as_current_span("root"):
        tracer.start_span("work", attributes=mark).end()
        assert arrived.wait(30)


@pytest.mark.parametrize(
    ("attributes", "kind"),
    [
        ({}, ""),
        ({"openinference.span.kind": "LLM"}, ""),
        ({"openinference.span.kind": ["TOOL"]}, ""),
        ({"gen_ai.operation.name": "chat", "gen_ai.tool.definitions": "[]"}, ""),
        ({"gen_ai.operation.name": "invoke_agent", "gen_ai.tool.name": "x"}, "agent"),
    ],
)
def test_the_kind_is_told_by_marks(attributes: dict[str, object], kind: str) -> None:
    """Only what names an agent or a tool counts, whatever types the values have."""
    assert kind_of(attributes) == kind


def test_a_stalled_exporter_does_not_hold_up_the_agent(started: Started, kept: KeptSpans) -> None:
    """The agent goes on while nothing can be sent; the newest finished spans are kept, the others are counted."""
    provider, processor = started(queue=10)
    tracer = provider.get_tracer("t")
    kept.gate.clear()
    root = tracer.start_span("root")
    assert kept.stalled.wait(30)
    for number in range(100):
        tracer.start_span(f"s{number}").end()
    root.end()
    kept.gate.set()
    assert processor.force_flush()
    names = [span.name for span in kept.ended]
    assert names[-1] == "root"
    assert names[-2] == "s99"
    assert len(names) + processor.counts.dropped == 101
    assert processor.counts.exported == len(names) == 10
    assert processor.counts.unannounced > 0


@pytest.mark.parametrize("how", ["fails", "raises"])
def test_what_an_exporter_refuses_is_counted(started: Started, kept: KeptSpans, how: str) -> None:
    """An exporter that fails costs its batch, not the next one, and nothing reaches the agent."""
    provider, processor = started()
    tracer = provider.get_tracer("t")
    setattr(kept, how, True)
    tracer.start_span("lost", attributes={"openinference.span.kind": "TOOL"}).end()
    assert processor.force_flush()
    setattr(kept, how, False)
    tracer.start_span("kept").end()
    assert processor.force_flush()
    assert [span.name for span in kept.ended] == ["kept"]
    assert processor.counts.failed >= 1
    assert processor.counts.exported == 1


def test_a_failure_of_ours_is_told_once_and_never_raised(
    started: Started, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The agent must not fail for its observer."""

    def broken(*_: object) -> bool:
        raise ValueError("ours")

    monkeypatch.setattr(processor_module, "_sampled", broken)
    monkeypatch.setattr(trouble, "_logged", set())
    provider, _ = started()
    with caplog.at_level(logging.WARNING, "tracejury.sdk"):
        for _ in range(3):
            with provider.get_tracer("t").start_as_current_span("work"):
                pass
    assert [record.getMessage().split(";")[0] for record in caplog.records] == [
        "LiveProcessor.on_start failed",
        "LiveProcessor.on_end failed",
    ]


def test_spans_that_are_not_sampled_are_not_sent(kept: KeptSpans) -> None:
    """Sampling is the program's decision."""
    provider = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False)
    processor = LiveProcessor(kept)
    provider.add_span_processor(processor)
    provider.get_tracer("t").start_span("x").end()
    assert processor.force_flush()
    provider.shutdown()
    assert kept.all == []


def test_shutdown_sends_what_is_left_once(started: Started, kept: KeptSpans) -> None:
    """What has ended is sent, what still runs is announced as it was last seen, and later spans are counted."""
    provider, processor = started(interval=3600.0, pace=3600.0)
    tracer = provider.get_tracer("t")
    running = tracer.start_span("running")
    tracer.start_span("child", context=None).end()
    running.set_attribute("step", 2)
    provider.shutdown()
    provider.shutdown()
    assert [span.name for span in kept.ended] == ["child"]
    assert dict(kept.announced[-1].attributes or {}) == {"step": 2, "tracejury.pending": True}
    assert kept.closed == 1
    running.end()
    assert processor.counts.dropped == 1


def test_shutdown_keeps_its_deadline(kept: KeptSpans) -> None:
    """A collector that does not answer can't keep a program from ending; what that costs is counted."""
    provider = TracerProvider(shutdown_on_exit=False)
    processor = LiveProcessor(kept, exit_flush=0.05, pace=0.0)
    provider.add_span_processor(processor)
    kept.gate.clear()
    provider.get_tracer("t").start_span("first").end()
    assert kept.stalled.wait(30)
    provider.get_tracer("t").start_span("second").end()
    provider.shutdown()  # returns although the exporter stalls
    assert processor.counts.dropped == 1
    kept.gate.set()


def test_the_plain_attributes_survive_the_limit_on_attributes(kept: KeptSpans) -> None:
    """The SDK drops the oldest attributes first, and these are the first to be written."""
    provider = TracerProvider(span_limits=SpanLimits(max_span_attributes=4), shutdown_on_exit=False)
    processor = LiveProcessor(kept)
    provider.add_span_processor(processor)
    tracer = provider.get_tracer("t")
    with agent("researcher", span=False), task("t-1"), tracer.start_as_current_span("chat") as span:
        span.set_attributes({f"llm.input_messages.{i}": "x" for i in range(10)})
    provider.shutdown()
    found = kept.one("chat").attributes or {}
    assert found["tracejury.agent.name"] == "researcher"
    assert found["tracejury.task.id"] == "t-1"
    assert found["llm.input_messages.9"] == "x"
