"""What is found while an agent runs stays found: every prefix of a trace, in the order in which its spans arrive."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from looping import CONVENTIONS, Made, normal
from sizes import sized
from trajectories import FRAMEWORKS, SHARED, TRAIL, load

from tracejury.judges.grouping import standing_errors
from tracejury.judges.registry import suite_of
from tracejury.processors.rebuild import rebuild
from tracejury.schemas.agent_errors import AgentError
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.profiles import DEFAULT_PROFILE, threshold
from tracejury.schemas.trajectory import KnownRuns, TraceState

SUITE = suite_of(())
SHOWN = threshold(DEFAULT_PROFILE)
CAPTURES = [
    *sorted(FRAMEWORKS.glob("*/*.zip")),
    *sorted(TRAIL.glob("*")),
    *sorted((SHARED / "steps").glob("*/traces/*")),
]

CODING = sorted((SHARED / "coding").glob("*/session.stream.jsonl.gz"))


def standing(spans: Sequence[NormalizedSpan]) -> Iterator[dict[str, AgentError]]:
    """The errors after each span, as they end, and once the trace has settled; those below the profile, too, by id."""
    known = KnownRuns()
    arriving = sorted(spans, key=lambda span: span.raw.end)
    for number in range(1, len(arriving) + 2):
        state = TraceState.OPEN if number <= len(arriving) else TraceState.SETTLED
        seen = rebuild(arriving[:number], state=state, known=known)
        yield {e.id: e for e in standing_errors(SUITE.judge(seen, known).findings, seen.runs)}


def lost(spans: Sequence[NormalizedSpan]) -> Iterator[str]:
    """What is gone after another span, but for what became part of another error; and what is back."""
    before: dict[str, AgentError] = {}
    gone: set[str] = set()
    for now in standing(spans):
        parts = {finding.id for error in now.values() if error.confidence() >= SHOWN for finding in error.findings}
        yield from (f"{now[i].lead.judge} is back at {now[i].lead.span_id}" for i in gone & now.keys() - before.keys())
        for one in (before[i] for i in before.keys() - now.keys() if before[i].confidence() >= SHOWN):
            gone.add(one.id)
            if one.lead.id not in parts:
                yield f"{one.lead.judge} at {one.lead.span_id} is gone"
        before = now


@pytest.mark.skipif(not CODING, reason="the shared sessions of coding agents are not on this machine")
@pytest.mark.parametrize("path", CODING[:: sized(5, 1)], ids=lambda path: path.parts[-2])
def test_no_error_of_a_coding_agent_goes_again_and_each_prefix_is_judged_as_from_scratch(path: Path) -> None:
    (spans,) = load(path).values()
    assert list(lost(spans)) == []
    arriving = sorted(spans, key=lambda span: span.raw.end)
    for number, live in zip(range(1, len(arriving) + 1), standing(spans), strict=False):
        seen = rebuild(arriving[:number], state=TraceState.OPEN)
        assert live == {e.id: e for e in standing_errors(SUITE.judge(seen).findings, seen.runs)}, number


@pytest.mark.skipif(not CAPTURES, reason="the shared captures are not on this machine")
@pytest.mark.parametrize("path", CAPTURES[:: sized(5, 1)], ids=lambda path: f"{path.parts[-2]}-{path.stem}")
def test_no_error_of_a_capture_goes_again(path: Path) -> None:
    assert [what for spans in load(path).values() for what in lost(spans)] == []


made = st.builds(
    Made,
    name=st.sampled_from(["search_orders", "get_status", "refund"]),
    arguments=st.sampled_from([{"customer": "Ada"}, {"customer": "Bob"}]),
    result=st.sampled_from(['{"orders": []}', '{"orders": [7]}', "HTTP 503 Service Unavailable", "not found", ""]),
    fails=st.booleans(),
    pause=st.sampled_from([0.0, 0.0, 6.0]),
    own_span=st.booleans(),
)
"""Calls that go well, fail, are empty, or wait."""


@settings(max_examples=sized(30, 2000), deadline=None)
@given(st.lists(st.tuples(made, st.integers(1, 5)), min_size=1, max_size=6), st.sampled_from(sorted(CONVENTIONS)))
def test_no_error_of_a_generated_run_goes_again(rounds: list[tuple[Made, int]], convention: str) -> None:
    """Each call some times in a row, with others before, between and after."""
    calls = [call for call, times in rounds for _ in range(times)]
    assert list(lost(normal(CONVENTIONS[convention](calls)))) == []
