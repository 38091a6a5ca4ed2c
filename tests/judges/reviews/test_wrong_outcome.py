"""Whether an outcome is known to be wrong: by packs' completion, by how the last run ended, by goal fulfilment."""

from dataclasses import replace
from typing import Any

import pytest
from small_traces import Did, Said, run, trace

from tracejury.judges.reviews.wrong_outcome import wrong_outcome
from tracejury.schemas.verdicts import Subject, SubjectKind, Verdict

BOSS = run("boss", Said("a", "There are 7 hens."), answer="7 hens")
HAND = run("hand", Said("b", "7"), parent_id="boss", role="sub-agent", answer="7", error="it broke")


def goal(score: int | None, run_id: str = "boss") -> Verdict:
    return Verdict("goal-fulfilment", "1", Subject(SubjectKind.AGENT_RUN, run_id, "t"), score, reasons="Yard 0 lacks.")


@pytest.mark.parametrize(("score", "wrong"), [(0, True), (1, True), (2, False), (3, False), (None, False)])
def test_goal_fulfilment_of_the_run_that_answered_decides(score: int | None, wrong: bool) -> None:  # noqa: FBT001  a case
    found = wrong_outcome(trace(BOSS, HAND), [goal(0, "hand"), goal(score)])
    assert found == (f"goal fulfilment {score} of 3: Yard 0 lacks." if wrong else "")


def test_a_run_that_only_executes_does_not_stand_for_the_one_that_answered() -> None:
    calls = replace(run("terminal", Said("c", "", [Did("shell", {}, "ok", span_id="d")])), turns=())
    assert wrong_outcome(trace(BOSS, calls), [goal(1)])


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"error": "boom"}, "the run ended with an error"),
        ({"ended": False}, "the run ended without an answer"),
        ({"ended": False, "answer": "7"}, ""),
        ({}, ""),
    ],
)
def test_how_the_run_ended_decides_without_a_judge(changes: dict[str, Any], why: str) -> None:
    assert wrong_outcome(trace(run("boss", Said("a", "Counting."), **changes)), []) == why


def test_what_the_task_came_to_goes_before_all_else() -> None:
    session = Subject(SubjectKind.SESSION, "t", "t")
    done = Verdict("club-done", "1", session, None, value=1.0, reasons="done is true")
    assert wrong_outcome(trace(BOSS), [goal(0), done], {"club-done"}) == ""
    failed = replace(done, value=0.0)
    assert wrong_outcome(trace(BOSS), [goal(3), failed], {"club-done"}).startswith("the task was not completed")


def test_a_trace_without_runs_has_no_known_outcome() -> None:
    assert wrong_outcome(trace(), []) == ""
