"""Grades of agent runs over the real store: means, parts, shares, what counts and what does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from graded import FAILED, NONE_DUE, graded
from listed_traces import SECOND, Listed, Mark, store_all
from measured_sessions import TASK_KEYS
from store_parts import a_span

from tracejury.collector.queries.measures import MeasureAnswer, StoredMeasures
from tracejury.collector.store import graded_runs
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.judges.packs.grades import grades_pack, mean_grades
from tracejury.schemas.findings import Verification
from tracejury.schemas.queries.measures import MeasureQuery
from tracejury.schemas.rows import SPAN_COLUMNS, span_columns
from tracejury.schemas.taxonomy import Dimension
from tracejury.schemas.trajectory import TraceState
from tracejury.schemas.verdicts import JudgedSubject, Judgement, Outcome, Subject, SubjectKind, Verdict

NOW = 1_800_000_000 * SECOND
HOUR = 3_600 * SECOND
REFUTED = "refuted by a verifier"


def a_trace(store: SharedStore, number: int, **changes: Any) -> Listed:
    """A closed trace of a planner's run `p` and a helper's `h`."""
    trace = Listed(number, **{"received": NOW - HOUR, "start": NOW - HOUR} | changes)
    store_all(store, [trace])
    return trace


def ask(store: SharedStore, **asked: Any) -> MeasureAnswer:
    measures = StoredMeasures(store, lambda: [grades_pack()], TASK_KEYS)
    (answer,) = measures.ask(MeasureQuery(**{"since": 0, "until": NOW} | asked))
    return answer


def means(answer: MeasureAnswer) -> Mapping[str, float | None]:
    """By letter, over all runs."""
    return {one.measure.letter: one.value for one in answer.total.figures}


def test_grades_are_means_with_shares_parts_and_an_overall(store: SharedStore) -> None:
    """Of 0 to 3; a run has the parts by what applies to it, and is unscored in one where a judge of it is."""
    first, second = a_trace(store, 1), a_trace(store, 2)
    graded(store, first, GF=3, PQ=NONE_DUE, PA=NONE_DUE, LC=0, EE=1, TS=3, TC=3)
    graded(store, first, "h", GF=1, PQ=2, PA=0, LC=1, EE=FAILED)
    graded(store, second, GF=0)
    answer = ask(store)
    found = means(answer)
    assert found["GF"] == found["Goal"] == pytest.approx(4 / 3)
    assert (found["PQ"], found["PA"], found["Plan"], found["LC"]) == pytest.approx((2, 0, 1, 0.5))
    assert found["Action"] == pytest.approx(7 / 4)  # that of the helper is unscored with one of its judges
    assert found["GPA"] == answer.total.average == pytest.approx((10 / 5 + 0) / 2)
    figures = {one.measure.letter: one for one in answer.total.figures}
    goal, plan = figures["GF"], figures["PQ"]
    assert goal.estimate is not None
    assert 0 <= goal.estimate.low < goal.estimate.value < goal.estimate.high <= 3
    assert [share and round(share.value, 3) for share in goal.shares.values()] == [0.333, 0.333]
    assert list(goal.shares) == ["0", "1"]
    assert (goal.n, plan.n, plan.not_applicable, figures["EE"].unscored, figures["Action"].unscored) == (3, 1, 1, 1, 1)
    assert answer.total.sessions == 3
    worst = [(one.trace_id, one.run_id, one.average) for one in answer.worst]
    assert worst[0] == (second.trace_id, "p", 0)


def test_runs_of_one_trace_tell_less_than_as_many_traces(store: SharedStore) -> None:
    """What agrees within a trace widens the interval."""
    for number in range(1, 5):
        trace = a_trace(store, number)
        for run in ("p", "h"):
            graded(store, trace, run, GF=3 * (number % 2))
    for number in range(5, 13):
        graded(store, a_trace(store, number, service="desk"), GF=3 * (number % 2))
    (desk, shop) = sorted(ask(store, by="service").rows, key=lambda row: row.key)
    wide, narrow = (row.figures[2].estimate for row in (shop, desk))
    assert wide is not None
    assert narrow is not None
    assert wide.value == narrow.value == 1.5
    assert wide.high - wide.low > narrow.high - narrow.low


def test_sampled_runs_stand_for_several(store: SharedStore) -> None:
    """With 1/p; of those the judge was asked of a share; a run that was asked for by hand counts in no figure."""
    graded(store, a_trace(store, 1), probability=0.25, GF=3)
    graded(store, a_trace(store, 2), GF=0)
    by_hand = a_trace(store, 3)
    graded(store, by_hand, probability=0.0, GF=0)
    goal = ask(store).total.figures[2]
    assert (goal.value, goal.n, goal.sampled) == pytest.approx((2.4, 2, 2 / 5))
    assert by_hand.trace_id in {one.trace_id for one in ask(store).worst}


def test_a_grade_of_0_without_a_standing_finding_is_counted(store: SharedStore) -> None:
    """One of the judge's own or in its dimension, by any judge, in this run, that no verifier refuted."""
    dimension = Dimension.PLAN_ADHERENCE
    for number, marks in enumerate(
        [
            (),
            (Mark("plan-adherence", dimension=dimension),),
            (Mark("logical-consistency", dimension=dimension),),
            (Mark("plan-adherence", dimension=dimension, agent="helper"),),
            (Mark("plan-adherence", dimension=dimension, evidence=REFUTED),),
        ],
        1,
    ):
        trace = a_trace(store, number)
        graded(store, trace, PA=0, LC=3)
        found = [
            replace(
                trace.finding(i, mark),
                verification=Verification.REFUTED if mark.evidence == REFUTED else Verification.NONE,
            )
            for i, mark in enumerate(marks)
        ]
        subject = Subject(SubjectKind.AGENT_RUN, "p", trace.trace_id)
        rows = [Judgement(subject, f.judge, "v1", "later", 2, trace.received, Outcome.DONE, (f,)) for f in found]
        StoredLlmJudging(store).save([JudgedSubject(TraceState.SETTLED, tuple(rows), tuple(found))] * bool(found))
    figures = {one.measure.letter: one.ungrounded for one in ask(store).total.figures}
    assert (figures["PA"], figures["LC"]) == (3, 0)


def test_a_judge_that_fails_when_asked_again_has_no_grade(store: SharedStore) -> None:
    """Its earlier verdict is of what the run was before."""
    trace = a_trace(store, 1)
    graded(store, trace, GF=3)
    subject = Subject(SubjectKind.AGENT_RUN, "p", trace.trace_id)
    failed = Judgement(subject, "goal-fulfilment", "v2", "later", 2, trace.received, Outcome.FAILED)
    StoredLlmJudging(store).save([JudgedSubject(TraceState.SETTLED, (failed,))])
    goal = ask(store).total.figures[2]
    assert (goal.n, goal.unscored, goal.estimate) == (0, 1, None)


def test_groups_filters_and_time(store: SharedStore) -> None:
    """As of sessions, but a run has its own agent and model, and the task that its trace names."""
    first = a_trace(store, 1, version="1", model="gpt", session="s")
    second = a_trace(store, 2, version="2", model="other", service="desk", received=NOW - 3 * HOUR)
    graded(store, first, GF=1)
    graded(store, first, "h", GF=3)
    graded(store, second, GF=2)
    span = a_span(trace_id=second.trace_id, attributes={"metadata": '{"task_id": 7}', "tier": "gold"}, service="desk")
    store.insert("spans", SPAN_COLUMNS, span_columns([span], NOW - 3 * HOUR))
    for by, rows in {
        "service": {"desk": 2, "shop": 2}, "version": {"1": 2, "2": 2}, "agent": {"planner": 1.5, "helper": 3},
        "model": {"gpt": 1, "other": 2, "": 3}, "task": {"7": 2, "": 2}, "attribute:tier": {"gold": 2, "": 2},
    }.items():  # fmt: skip
        assert {row.key: row.figures[2].value for row in ask(store, by=by).rows} == pytest.approx(rows), by
    for name, value in {"service": "desk", "version": "2", "model": "other", "task": "7"}.items():
        assert ask(store, **{name: value}).total.sessions == 1, name
    assert [(row.at, row.sessions) for row in ask(store, step=HOUR).rows] == [(NOW - 3 * HOUR, 1), (NOW - HOUR, 2)]
    assert ask(store, simulated=True).total.sessions == 0
    measures = StoredMeasures(store, lambda: [grades_pack()], TASK_KEYS)
    goal = measures.compare(ask(store, version="2"), MeasureQuery(0, NOW, version="1", agent="planner")).differences[
        "GF"
    ]
    assert goal is not None
    assert goal.low < goal.value == 1 < goal.high


def test_open_and_waiting_runs(store: SharedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is open is in no figure, what is queued is counted beside them; what one answer reads is bounded."""
    graded(store, a_trace(store, 1, state=TraceState.OPEN), GF=0)
    waits = a_trace(store, 2)
    subject = Subject(SubjectKind.AGENT_RUN, "p", waits.trace_id)
    row = Judgement(subject, "goal-fulfilment", "v1", "hash", 1, waits.received, Outcome.PENDING)
    StoredLlmJudging(store).save([JudgedSubject(TraceState.SETTLED, (row,))])
    assert (ask(store).total.sessions, ask(store).waiting, ask(store, task="7").waiting) == (0, 1, None)
    for number in (3, 4):
        graded(store, a_trace(store, number), GF=2)
    monkeypatch.setattr(graded_runs, "MOST_SESSIONS", 1)
    assert (ask(store).total.sessions, ask(store).unread) == (1, 1)


def test_mean_grades_of_a_trace() -> None:
    """Over its runs, without what is of other subjects and judges."""
    run, other = (Subject(SubjectKind.AGENT_RUN, name, "t") for name in "ab")
    exchange = Subject(SubjectKind.EXCHANGE, "a:0-1", "t")
    said = [
        Verdict("goal-fulfilment", "v", run, 3), Verdict("goal-fulfilment", "v", other, 0),
        Verdict("plan-quality", "v", run, None, not_applicable=True), Verdict("tool-calling", "v", run, 2),
        Verdict("own", "v", run, 0), Verdict("goal-fulfilment", "v", exchange, 0),
    ]  # fmt: skip
    assert mean_grades(said) == {"GF": 1.5, "TC": 2, "Goal": 1.5, "Action": 2, "GPA": 1.25}
    assert mean_grades([]) == {}
