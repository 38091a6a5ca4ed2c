"""The demo's agent program: deterministic, real spans, and its faults are found by what judges anybody's."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tracejury.collector.cli.demo.almanac import almanac, calculate, search
from tracejury.collector.cli.demo.program import SERVICE, perform
from tracejury.collector.cli.demo.runs import FROM_MEMORY, HAMMERING, HEALTHY, INVENTED, RUNS, WRONG_ARGUMENTS, DemoRun
from tracejury.collector.otlp.codec.decode import decode
from tracejury.collector.otlp.codec.signals import Encoding, Signal
from tracejury.judges.registry import default_suite
from tracejury.processors.normalize import normalize
from tracejury.processors.rebuild import rebuild
from tracejury.schemas.findings import Finding
from tracejury.schemas.profiles import threshold
from tracejury.schemas.trajectory import ToolCall, Trace, TurnKind


@dataclass(frozen=True, slots=True)
class Seen:
    """One run as a collector sees it."""

    trace: Trace
    findings: tuple[Finding, ...]

    def calls(self, agent: str) -> list[ToolCall]:
        """The tool calls of one agent, in order."""
        return [c for run in self.trace.runs if run.name == agent for turn in run.turns for c in turn.tool_calls]

    def shown(self, profile: str) -> list[Finding]:
        """The findings of a profile."""
        return [f for f in self.findings if f.confidence >= threshold(profile)]

    def turn_of(self, finding: Finding) -> str:
        """What the model wrote, and asked for, in the finding's turn."""
        run = self.trace.run(finding.agent_run_id)
        assert run is not None
        assert finding.turn is not None
        turn = run.turns[finding.turn]
        return turn.text + " ".join(c.name for c in turn.tool_calls)


def see(run: DemoRun) -> Seen:
    """Perform a run and judge its spans."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(resource=Resource.create({"service.name": SERVICE}), shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    perform(run, provider.get_tracer("test"))
    body = encode_spans(exporter.get_finished_spans()).SerializeToString()
    batch = decode(Signal.TRACES, Encoding.PROTOBUF, body, received_at=1).batch
    trace = rebuild([normalize(span) for span in batch.spans])
    return Seen(trace, default_suite().judge(trace).findings)


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.title)
def test_every_run_is_a_manager_with_a_sub_agent(run: DemoRun) -> None:
    """Two agent runs in one trace, each with a plan first; every span but the program's own is in one of them."""
    seen = see(run)
    assert [(r.name, r.role, r.status) for r in seen.trace.runs] == [
        ("manager", "manager", "ok"),
        ("researcher", "sub-agent", "ok"),
    ]
    assert [r.turns[0].kind for r in seen.trace.runs] == [TurnKind.PLAN] * 2
    assert seen.trace.runs[0].goal == run.task
    assert [span.raw.name for span in seen.trace.remainder] == ["answer_question"]
    assert seen.trace.conventions == ("openinference",)
    assert seen.trace.service == SERVICE


def test_the_healthy_run_is_clean() -> None:
    """No finding at the default profile, nor at recall."""
    seen = see(HEALTHY)
    assert seen.shown("balanced") == []
    assert seen.shown("recall") == []


@pytest.mark.parametrize("run", [run for run in RUNS if run.fault], ids=lambda run: run.title)
def test_every_fault_is_found_at_the_default_profile(run: DemoRun) -> None:
    """At least one finding, at a span of the trace, quoting it."""
    seen = see(run)
    shown = seen.shown("balanced")
    assert shown
    assert all(f.span_id in seen.trace.spans for f in shown)


def test_wrong_arguments_are_found_at_their_call() -> None:
    """The span is the call that the schema does not allow, or the turn that asked for it."""
    found = [f for f in see(WRONG_ARGUMENTS).shown("balanced") if f.category == "Formatting Errors"]
    assert found
    assert "title" in found[0].evidence + found[0].explanation


def test_hammering_is_found_at_the_repeated_call() -> None:
    """A finding in the researcher's run names the failing tool's repetition."""
    seen = see(HAMMERING)
    assert len(seen.calls("researcher")) == 4
    assert all(call.error for call in seen.calls("researcher"))
    assert "Resource Abuse" in {f.category for f in seen.shown("recall")}


def test_the_invented_answer_is_found_where_it_was_made() -> None:
    """At the researcher's turn that makes it up after the search failed."""
    seen = see(INVENTED)
    assert any("Edmund Harcourt" in seen.turn_of(f) for f in seen.shown("balanced") if f.turn is not None)


def test_an_answer_from_memory_is_found_where_it_was_given() -> None:
    """At the researcher's only acting turn, which calls nothing although its plan names two tools."""
    seen = see(FROM_MEMORY)
    assert seen.calls("researcher") == []
    assert any("From memory" in seen.turn_of(f) for f in seen.shown("balanced") if f.turn is not None)


def test_the_tools_do_what_they_say() -> None:
    """They are real functions; failing is what they do for real, too."""
    assert search("Cedar") == "Articles: Cedar Tunnel"
    assert search("bridge", 1) == "Articles: Alder Bridge"
    assert search("nothing") == "No articles match."
    assert (calculate("312 - 268"), calculate(" 2+2 ")) == ("44", "4")
    with pytest.raises(ValueError, match="cannot calculate"):
        calculate("__import__('os')")
    with pytest.raises(ConnectionError, match="503"):
        almanac(down=True)[0].run("x")


def test_runs_are_the_same_every_time() -> None:
    """But for ids and times: nothing is random, nothing asks a model or a network."""
    first, second = see(WRONG_ARGUMENTS), see(WRONG_ARGUMENTS)
    assert [c.arguments for c in first.calls("researcher")] == [c.arguments for c in second.calls("researcher")]
    assert sorted(f.evidence for f in first.findings) == sorted(f.evidence for f in second.findings)
