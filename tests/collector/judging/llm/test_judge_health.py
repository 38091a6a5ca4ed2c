"""Why the model brings nothing: told at once, and not with every call."""

from __future__ import annotations

import pytest

from tracejury.collector.judging.llm.judge_health import JudgeHealth
from tracejury.processors.assemble import SECOND
from tracejury.schemas.errors import OverBudgetError
from tracejury.schemas.verdicts import Judgement, Outcome, Subject, SubjectKind

RUN = Subject(SubjectKind.AGENT_RUN, "0a", "a" * 32)


def said(*outcomes: Outcome) -> list[Judgement]:
    """One judge an outcome; those that failed say why."""
    reasons = ["not found" if one is Outcome.FAILED else "" for one in outcomes]
    return [
        Judgement(RUN, f"judge-{i}", "v1", "hash", 0, 0, outcome, reason=why)
        for i, (outcome, why) in enumerate(zip(outcomes, reasons, strict=True))
    ]


def test_the_reason_stands_until_a_call_is_answered() -> None:
    """An answer from the cache, or nothing to judge, says nothing of the model; one failure beside a score is none."""
    complaint = JudgeHealth(lambda: 0)
    complaint.note(said(Outcome.NOT_APPLICABLE, Outcome.FAILED))
    assert complaint.problem == "not found"
    complaint.note(said(Outcome.CACHED))
    complaint.note(said(Outcome.NOT_APPLICABLE))
    assert complaint.problem == "not found"
    complaint.note(said(Outcome.FAILED, Outcome.DONE))
    assert complaint.problem == ""
    complaint.failed("cannot be reached")
    assert complaint.problem == "cannot be reached"


def test_the_log_has_a_line_a_minute_at_most(caplog: pytest.LogCaptureFixture) -> None:
    """However often calls fail, and whatever comes between."""
    now = iter(range(0, 121 * SECOND, 15 * SECOND))
    complaint = JudgeHealth(lambda: next(now))
    for _ in range(9):
        complaint.failed("cannot be reached")
        complaint.note(said(Outcome.DONE))
    assert [r.getMessage() for r in caplog.records] == [
        "LLM judges: cannot be reached (tracejury ledger tells which runs)"
    ] * 3


def test_a_missing_key_is_told_until_a_call_is_answered(caplog: pytest.LogCaptureFixture) -> None:
    """Once in the log; a failure does not end it."""
    health = JudgeHealth(lambda: 0)
    health.started("no key")
    health.note(said(Outcome.FAILED))
    assert health.missing_keys == "no key"
    health.note(said(Outcome.DONE))
    assert health.missing_keys == ""
    assert [r.getMessage() for r in caplog.records].count("LLM judges: no key") == 1
    health.started("")
    assert len(caplog.records) == 2


def test_a_cap_that_stops_calls_is_told_until_its_period_ends() -> None:
    """An answer that was paid for before it does not end it."""
    health = JudgeHealth(lambda: 0)
    assert health.stopped(0) == ""
    health.over_budget(OverBudgetError("tokens_per_hour until then", until=10))
    health.note(said(Outcome.DONE))
    assert (health.stopped(9), health.stopped(10)) == ("tokens_per_hour until then", "")
    assert health.problem == ""


def test_a_cap_of_one_project_is_told_to_it_alone() -> None:
    """Its message names the project, or a service of it; that of all is for everybody."""
    health, whose = JudgeHealth(lambda: 0), ("acme", "globex", "")
    health.over_budget(OverBudgetError("usd_per_day of project 'acme'", until=10, project="acme"))
    assert [health.stopped(9, project) for project in whose] == ["usd_per_day of project 'acme'", "", ""]
    health.over_budget(OverBudgetError("usd_per_day", until=20))
    assert [health.stopped(9, project) for project in whose] == ["usd_per_day"] * 3
