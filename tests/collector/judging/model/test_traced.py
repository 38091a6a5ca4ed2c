"""Spans of judge calls: by the GenAI conventions, without content, with a mark that cannot be forged."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode, format_span_id, format_trace_id

from tracejury.collector.judging.model import traced
from tracejury.collector.judging.model.traced import TracedClient, close_provider, provider_of
from tracejury.collector.otlp.mark import MARK, is_ours
from tracejury.judges.llm.client import Prompt, PromptMessage, Reply
from tracejury.judges.llm.scripted import Line, ScriptedClient
from tracejury.schemas.errors import LlmError
from tracejury.schemas.spans import Span

SECRET = b"s" * 32
ASKED = Prompt(
    (PromptMessage("user", "CONTENT of a trace"),), max_tokens=9, purpose="closing", trace_id="t", run_id="r"
)
ANSWER = Reply("CONTENT of an answer", "m-2", 10, 4, 5, 0.25, "stop")


async def spans_of(line: Line, *, model: str = "anthropic/m") -> Sequence[ReadableSpan]:
    """The spans of one call."""
    exporter = InMemorySpanExporter()
    provider: TracerProvider = provider_of(SimpleSpanProcessor(exporter))
    client = TracedClient(ScriptedClient.playing([line], model), provider.get_tracer("test"), SECRET)
    try:
        await client.complete(ASKED)
    except LlmError as error:
        assert error is line  # noqa: PT017  that the call's own error comes through is what is asserted
    provider.shutdown()
    return exporter.get_finished_spans()


def stored(span: ReadableSpan) -> Span:
    """The span as the store gives it back."""
    assert span.context is not None
    return Span(
        trace_id=format_trace_id(span.context.trace_id),
        span_id=format_span_id(span.context.span_id),
        parent_span_id="",
        name=span.name,
        start=span.start_time or 0,
        end=span.end_time or 0,
        attributes={key: str(value) for key, value in (span.attributes or {}).items()},
    )


async def test_a_call_has_a_span() -> None:
    """It says what was asked of whom and what it took."""
    [span] = await spans_of(ANSWER)
    attributes = dict(span.attributes or {})
    assert attributes.pop(MARK)
    assert span.name == "chat anthropic/m"
    assert span.parent is None
    assert attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "anthropic/m",
        "gen_ai.request.max_tokens": 9,
        "gen_ai.response.model": "m-2",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.usage.cache_read.input_tokens": 4,
        "tracejury.judge.purpose": "closing",
        "tracejury.judge.cost_usd": 0.25,
        "tracejury.judged.service": "",
        "tracejury.judged.trace_id": "t",
        "tracejury.judged.run_id": "r",
    }


async def test_a_failed_call_has_one_too() -> None:
    """With the kind of error; its text may repeat what was said."""
    [span] = await spans_of(LlmError("CONTENT refused"))
    assert span.status.status_code is StatusCode.ERROR
    assert (span.attributes or {})["error.type"] == "LlmError"
    assert not span.events


@pytest.mark.parametrize("line", [ANSWER, LlmError("CONTENT refused")])
async def test_no_content_is_sent(line: Line) -> None:
    """Neither of the trace, nor of the answer, nor of an error."""
    [span] = await spans_of(line)
    assert "CONTENT" not in span.to_json()


async def test_the_mark_tells_our_spans() -> None:
    """Under this secret, on this span."""
    first, second = [stored(s) for line in (ANSWER, ANSWER) for s in await spans_of(line)]
    assert is_ours(first, SECRET)
    assert not is_ours(first, b"t" * 32)
    assert not is_ours(replace(first, attributes={}), SECRET)
    assert not is_ours(replace(first, attributes={MARK: second.attributes[MARK]}), SECRET), "a copied mark"
    assert not is_ours(replace(first, trace_id=second.trace_id), SECRET)


@pytest.mark.parametrize("mark", ["", "0" * 32, "\ud800", "ü" * 32, "0" * 100_000])
def test_any_other_mark_is_none(mark: str) -> None:
    """Whatever it is made of."""
    assert not is_ours(Span("a" * 32, "b" * 16, "", "chat", 0, 1, attributes={MARK: mark}), SECRET)


async def test_an_exporter_that_is_stuck_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its last spans are lost, and the loop's own threads are free."""
    monkeypatch.setattr(traced, "LAST_SECONDS", 0.01)
    free = threading.Event()
    provider = provider_of(SimpleSpanProcessor(InMemorySpanExporter()))
    monkeypatch.setattr(provider, "shutdown", free.wait)
    await close_provider(provider)
    assert not free.is_set()
    free.set()
