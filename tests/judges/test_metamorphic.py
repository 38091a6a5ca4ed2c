"""Metamorphic relations over captures of all frameworks: a fault makes one error at its step, and nothing else does."""

from __future__ import annotations

from functools import cache

import pytest
from captured_faults import (
    LLM,
    TOOL,
    Step,
    Traces,
    changed,
    failed,
    joined,
    limited,
    raising,
    reworded,
    step_of,
    with_fault,
)
from fault_kinds import DOWN, ENDINGS, FAULTS
from sizes import sized
from trajectories import FRAMEWORKS, load

from tracejury.judges.causes import OF_THE_TOOL
from tracejury.judges.grouping import group
from tracejury.judges.registry import suite_of
from tracejury.schemas.agent_errors import AgentError, Cause
from tracejury.schemas.normalized import Kind
from tracejury.schemas.profiles import threshold
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.trajectory import TraceState

pytestmark = pytest.mark.skipif(not FRAMEWORKS.exists(), reason="the shared framework captures are not on this machine")

SUITE = suite_of(())
LABELS = sorted(p.parent.name for p in FRAMEWORKS.glob("*/S1.zip")) if FRAMEWORKS.exists() else []
RULES = {
    "failed call": "service-error",
    "time-out": "timeout-error",
    "unknown tool": "unknown-tool",
    "malformed arguments": "malformed-arguments",
    "unknown argument": "schema-violation",
    "refusal": "call-refused",
    "lost result": "lost-result",
    "non-zero exit": "execution-failed",
}
UNMENDED = {"lost result", "non-zero exit"}
"""Faults after which the same tool is not seen to work."""


@cache
def healthy(label: str) -> Traces:
    """The spans of a healthy run."""
    return load(FRAMEWORKS / label / "S1.zip")


def errors(traces: Traces) -> list[AgentError]:
    """What a balanced reader sees."""
    found: list[AgentError] = []
    for trace in joined(traces):
        result = SUITE.judge(trace)
        assert result.failures == ()
        shown = [f for f in result.findings if f.confidence >= threshold("balanced")]
        found += group(shown, [run.id for run in trace.runs])
    return found


def places(traces: Traces) -> set[tuple[str, str]]:
    """Rule and primary span of each error."""
    return {place(e) for e in errors(traces)}


@cache
def step(label: str) -> Step:
    """The healthy step that is copied; skips where no call of a model shows what it asked for."""
    found = step_of(healthy(label))
    if found is None:
        pytest.skip("what the model asked for is not recorded")
    return found


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("label", LABELS)
def test_a_fault_is_one_error_at_its_step(label: str, fault: str) -> None:
    """Under its own name, at the tool where that failed by itself; without it, there is none; mended, it is slight."""
    traces, healthy_step = healthy(label), step(label)
    if FAULTS[fault].told is None and not healthy_step.sent:
        pytest.skip("what the model was sent is not recorded")
    found = [e for e in errors(with_fault(traces, healthy_step, FAULTS[fault])) if place(e) not in places(traces)]
    rule = RULES[fault]
    at_tool = rule in OF_THE_TOOL and not label.startswith("raw_")  # bare clients record no tools
    assert [place(e) for e in found] == [(OF_THE_TOOL[rule], TOOL) if at_tool else (rule, LLM)]
    # Runs without a span of their own may begin elsewhere with the copy.
    if found[0].lead.agent_run_id == healthy_step.run.id:
        assert found[0].severity() is (Severity.MEDIUM if fault in UNMENDED else Severity.LOW)


def place(error: AgentError) -> tuple[str, str]:
    """Rule and primary span."""
    return error.lead.judge, error.lead.span_id


@pytest.mark.parametrize("message", ENDINGS)
@pytest.mark.parametrize("label", LABELS)
def test_a_manager_that_fails_is_one_severe_error(label: str, message: str) -> None:
    """At its own span, with the message as its quote, in a trace that has failed."""
    traces = healthy(label)
    manager = next((r for t in joined(traces) for r in t.runs if not r.parent_id and r.span is not None), None)
    if manager is None or manager.span is None:
        pytest.skip("no run of a manager has a span of its own")
    faulty = changed(traces, manager.span.span_id, lambda span: failed(span, message))
    (error,) = [e for e in errors(faulty) if place(e) not in places(traces)]
    assert place(error) == (ENDINGS[message], manager.span.span_id)
    assert (error.lead.evidence, error.severity()) == (message, Severity.HIGH)
    assert TraceState.FAILED in {t.state for t in joined(faulty)}


@pytest.mark.parametrize("closing", [True, False])
def test_a_manager_at_its_step_limit_is_one_severe_error(*, closing: bool) -> None:
    """At the call that words an answer without tools, or at the last step; with steps left there is none.

    Nothing is found where the record does not tell: a closing call like any other, or an agent that spoke on.
    """
    tried = found = 0
    for label in LABELS:
        made = limited(healthy(label), closing=closing)
        if made is None:
            continue
        tried += 1
        told = [e for e in errors(made[0]) if e.lead.judge == "step-limit"]
        found += len(told)
        assert len(told) <= 1, label
        assert all(e.lead.span_id in made[1] and e.severity() is Severity.HIGH for e in told), label
        left = limited(healthy(label), closing=True, spare=1)
        assert left is None or not any(e.lead.judge == "step-limit" for e in errors(left[0])), label
    assert tried >= 15
    assert found >= 0.7 * tried


@pytest.mark.parametrize("label", LABELS)
def test_a_sub_agent_that_fails_under_a_manager_that_answers_cost_a_step(label: str) -> None:
    """It is told at the sub-agent, and not again at the call that delegated."""
    traces = healthy(label)
    runs = [
        r for t in joined(traces) for r in t.runs if r.parent_id and r.span is not None and r.span.kind is Kind.AGENT
    ]
    if not runs or runs[0].span is None:
        pytest.skip("no run of a sub-agent has a span of its own")
    span_id = runs[0].span.span_id
    faulty = changed(traces, span_id, lambda span: failed(span, "KeyError: 'river'"))
    (error,) = [e for e in errors(faulty) if place(e) not in places(traces)]
    assert (*place(error), error.severity()) == ("run-crashed", span_id, Severity.MEDIUM)


SOME = LABELS[:: sized(3, 1)]
"""Frameworks on which all relations are tried, not just those of faults."""


def faulty(label: str, fault: str) -> Traces:
    """A run with a fault."""
    return with_fault(healthy(label), step(label), FAULTS[fault])


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("label", SOME)
def test_the_order_of_spans_changes_nothing(label: str, fault: str) -> None:
    """Not even an id."""
    traces = faulty(label, fault)
    shuffled = {i: sorted(spans, key=lambda s: s.span_id[::-1]) for i, spans in traces.items()}
    assert [e.id for e in errors(shuffled)] == [e.id for e in errors(traces)]


NAMES = {"search": "zork", "calculator": "blip", "researcher": "alpha", "Researcher": "Alpha", "manager": "omega"}
WORDS = {"The ": "Der ", " is ": " ist ", " long": " lang", " longer": " länger", " than ": " als ", " and ": " und "}


@pytest.mark.parametrize("words", [NAMES, WORDS], ids=["names", "language"])
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("label", SOME)
def test_names_and_language_change_nothing(label: str, fault: str, words: dict[str, str]) -> None:
    """Rules go by what was called and returned, so other names of tools and agents, or another language, are the same.

    The message of the error is the framework's, and stays.
    """
    other = reworded(healthy(label), words)
    expected, copied = places(faulty(label, fault)), step_of(other)
    assert copied is not None
    assert places(with_fault(other, copied, FAULTS[fault])) == expected


@pytest.mark.parametrize("label", [label for label in LABELS if step_of(healthy(label)) is None])
def test_a_tool_that_fails_is_found_without_a_models_call(label: str) -> None:
    """The tool's own span says so."""
    traces = healthy(label)
    calls = [c for t in joined(traces) for r in t.runs for turn in r.turns for c in turn.tool_calls]
    span = next(c.span for c in calls if c.span is not None and not c.sub_run_id and not c.closing)
    found = errors(changed(traces, span.span_id, raising(DOWN)))
    # Answers that rested on the result are unsupported now.
    (error,) = [e for e in found if e.cause == Cause.FAILED_CALL]
    assert span.span_id in error.spans
