"""Runs far beyond what runs of their agent usually use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from looping import Made, genai, normal

from tracejury.judges.grouping import standing_errors
from tracejury.judges.registry import suite_of
from tracejury.judges.runaways import LEAST, Bounds, RunUsage, UsualRuns
from tracejury.processors.rebuild import rebuild
from tracejury.schemas.findings import Finding
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.trajectory import Exchange, TraceState

SUITE = suite_of(())
EVERY = [Made("look_up", {"page": number}, f"page {number}") for number in range(150)]
"""Calls that are no loop: each brings something else."""


def usual(price: float = 0.0, runs: int = 40, **most: float) -> UsualRuns:
    """What runs of the clerk may use; what is not named has no bound."""
    none = dict.fromkeys(("turns", "tokens", "seconds", "usd"), float("inf"))

    def priced(_: NormalizedSpan) -> float:
        return price

    counts = RunUsage(runs, runs, runs, runs)
    return UsualRuns({"clerk": Bounds(RunUsage(**none | most), counts)}, Bounds(RunUsage(**none)), priced)


def found(spans: Sequence[NormalizedSpan], known: UsualRuns, state: TraceState = TraceState.OPEN) -> list[Finding]:
    return [f for f in SUITE.judge(rebuild(spans, state=state), usual=known).findings if f.judge == "runaway"]


def spans(tokens: int = 0) -> list[NormalizedSpan]:
    """A run of 150 turns as they end, its agent's own span last; a turn takes 0.4 s of a model, 0.2 of a tool."""
    made = normal(sorted(genai(EVERY), key=lambda span: span.end))
    return [replace(s, input_tokens=tokens) if s.span_id.startswith("llm") else s for s in made]


@pytest.mark.parametrize(
    ("known", "at"),
    [
        (usual(turns=40), "llm40"),
        (usual(tokens=1_200_000), "llm60"),  # 20,000 a turn
        (usual(seconds=60.1), "llm100"),
        (usual(price=0.1, usd=5.05), "llm50"),
        (usual(turns=40, tokens=1_800_000), "llm40"),
    ],
)
def test_it_stands_where_the_bound_was_passed_and_grows_severe(known: UsualRuns, at: str) -> None:
    """While the run is open; the figures say by how much, and HIGH follows at twice the bound."""
    arriving = spans(20_000)
    seen = [found(arriving[:number], known) for number in range(60, len(arriving) + 1, 15)]
    first = next(number for number, errors in enumerate(seen) if errors)
    assert {(e.span_id, e.id) for errors in seen[first:] for e in errors} == {(at, seen[first][0].id)}
    assert all(len(errors) == 1 for errors in seen[first:])
    severities = [errors[0].severity for errors in seen[first:]]
    assert severities == sorted(severities, key=lambda severity: severity.rank)
    assert severities[0] is Severity.MEDIUM
    assert "by 40 earlier runs of this agent" in seen[-1][0].explanation


def test_twice_the_bound_is_high() -> None:
    assert [f.severity for f in found(spans(), usual(turns=74))] == [Severity.HIGH]
    assert [f.severity for f in found(spans(), usual(turns=75))] == [Severity.MEDIUM]


def test_without_earlier_runs_a_fixed_bound_holds() -> None:
    """The default allows this run of 150 turns; a lower one may be set."""
    assert found(spans(), UsualRuns()) == []
    (one,) = found(spans(), UsualRuns(fixed=Bounds(RunUsage(100, 1e9, 1e9, 1e9))))
    assert "a fixed bound, as too few runs of this agent are known" in one.explanation


def test_each_message_of_a_user_begins_anew() -> None:
    """A long conversation is no runaway; one long answer in it is, and stays what it was when the next one begins."""
    whole = rebuild(spans(), state=TraceState.OPEN)
    (agent_run,) = whole.runs

    def judged(*ends: int) -> list[str]:
        parts = zip((0, *ends), (*ends, 150), strict=True)
        exchanges = tuple(Exchange(agent_run.id, first, last - 1, "", "") for first, last in parts)
        told = SUITE.judge(replace(whole, exchanges=exchanges), usual=usual(turns=40)).findings
        return [f"{f.span_id} {f.explanation.partition(': ')[2][:8]}" for f in told if f.judge == "runaway"]

    assert judged(40, 80, 120) == []
    assert judged(10, 70) == ["llm50 60 turns"]


@given(st.integers(0, 29), st.floats(0, 100))
def test_little_is_never_far_beyond(count: int, most: float) -> None:
    """Below the least figures nothing is said, however little others use."""
    few = normal(genai(EVERY[:count]))
    assert count < LEAST.turns
    assert found(few, usual(turns=most, tokens=most, seconds=most), TraceState.SETTLED) == []


def test_a_loop_that_runs_away_is_one_error() -> None:
    """The loop came first; what it used is told in its error, and makes it HIGH."""
    looping = rebuild(normal(genai([Made()] * 90)), state=TraceState.OPEN)
    (error,) = standing_errors(SUITE.judge(looping, usual=usual(turns=40)).findings, looping.runs)
    assert (error.lead.judge, error.severity(0.5)) == ("identical-call", Severity.HIGH)
    assert "runaway" in {finding.judge for finding in error.findings}
