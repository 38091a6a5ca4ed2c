"""When a run goes before the judges while its trace is open."""

from __future__ import annotations

from dataclasses import replace

import pytest
from small_traces import Said, run, trace
from store_parts import a_finding

from tracejury.judges.llm.schedule import (
    SECOND,
    RunProgress,
    WindowRules,
    closed_turns,
    content_hash,
    is_over,
    new_plans,
    window_due,
)
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.trajectory import AgentRun, TraceState, TurnKind

RULES = WindowRules(turns=5, seconds=60.0, tokens=100, severity=Severity.HIGH)


def turns(count: int, said: str = "x", *, open_last: bool = False) -> AgentRun:
    """A run of so many turns."""
    return run(
        "m", *(Said(f"l{i}", said, closed=not (open_last and i == count - 1)) for i in range(count)), ended=False
    )


@pytest.mark.parametrize(("count", "judged", "due"), [(4, 0, False), (5, 0, True), (9, 5, False), (10, 5, True)])
def test_a_window_closes_after_so_many_new_turns(count: int, judged: int, due: bool) -> None:  # noqa: FBT001  a table
    """Below, at, and again after the last window."""
    assert window_due(turns(count), RunProgress(judged, since=1), [], 2, RULES) is due


def test_an_open_turn_is_not_judged() -> None:
    """Five turns of which the last is open are four."""
    assert len(closed_turns(turns(5, open_last=True))) == 4
    assert not window_due(turns(5, open_last=True), RunProgress(), [], 0, RULES)


@pytest.mark.parametrize(("waited", "due"), [(59, False), (60, True)])
def test_a_window_closes_with_time(waited: int, due: bool) -> None:  # noqa: FBT001  a table
    """So many seconds after its first turn was seen; without a new turn never."""
    progress = RunProgress(since=SECOND)
    assert window_due(turns(1), progress, [], (waited + 1) * SECOND, RULES) is due
    assert not window_due(turns(1), RunProgress(1, SECOND), [], 1000 * SECOND, RULES)


@pytest.mark.parametrize(("length", "due"), [(199, False), (200, True)])
def test_a_window_closes_with_the_size_of_its_text(length: int, due: bool) -> None:  # noqa: FBT001  a table
    """About four characters a token."""
    assert window_due(turns(2, "x" * length), RunProgress(), [], 0, RULES) is due


@pytest.mark.parametrize(
    ("count", "turn", "severity", "due"),
    [
        (3, 2, Severity.HIGH, True),
        (3, 2, Severity.MEDIUM, False),
        (2, 1, Severity.HIGH, False),
        (3, 7, Severity.HIGH, False),
    ],
)
def test_a_severe_finding_closes_a_window_early(count: int, turn: int, severity: Severity, due: bool) -> None:  # noqa: FBT001  a table
    """From half a window on, so that a run of failures is not a call a turn."""
    finding = a_finding(agent_run_id="m", turn=turn, severity=severity)
    assert window_due(turns(count), RunProgress(), [finding], 0, RULES) is due


def test_a_plan_is_news_once() -> None:
    """Those since the last window, as long as one of them was not judged by itself."""
    planning = run(
        "m", Said("p", "plan", kind=TurnKind.PLAN), Said("a", "act"), Said("q", "re-plan", kind=TurnKind.PLAN)
    )
    assert new_plans(planning, RunProgress()) == (0, 2)
    assert new_plans(planning, RunProgress(plans=1)) == (0, 2)
    assert new_plans(planning, RunProgress(plans=2)) == ()
    assert new_plans(planning, RunProgress(turns=1, plans=1)) == (2,)


@pytest.mark.parametrize(
    ("parent", "ended", "state", "over"),
    [
        ("", True, TraceState.OPEN, False),
        ("", True, TraceState.SETTLED, True),
        ("m", True, TraceState.OPEN, True),
        ("m", False, TraceState.OPEN, False),
        ("m", False, TraceState.INCOMPLETE, True),
    ],
)
def test_a_sub_agent_is_over_with_its_span_and_a_manager_with_the_trace(
    parent: str,
    ended: bool,  # noqa: FBT001  a table
    state: TraceState,
    over: bool,  # noqa: FBT001  a table
) -> None:
    """Whether the goal was met stands only at the end."""
    one = run("r", Said("l", "x"), parent_id=parent, ended=ended)
    assert is_over(trace(one, state=state), one) is over


def test_what_a_closing_pass_sees_has_a_hash_that_changes_with_it() -> None:
    """New turns, longer values, a sub-agent's answer change it; what happens in another run does not."""
    below = run("s", Said("l9", "sub"), parent_id="m", role="sub-agent", answer="42")
    one = run("m", Said("l1", "x"))
    calling = replace(one, turns=(replace(one.turns[0], sub_run_ids=("s",)),))
    base = content_hash(trace(calling, below), calling)
    assert content_hash(trace(calling, below), calling) == base
    other = replace(below, answer="43")
    assert content_hash(trace(calling, other), calling) != base
    assert content_hash(trace(calling, below), below) == content_hash(trace(one, below), below)
    longer = replace(calling, turns=(*calling.turns, *turns(1).turns))
    assert content_hash(trace(longer, below), longer) != base
    assert content_hash(trace(calling, below, state=TraceState.INCOMPLETE), calling) != base
