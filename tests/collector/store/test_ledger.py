"""The ledger as people ask it: filters, pages, places, scores and what is left out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from measured_sessions import a_value, of_session, save
from store_parts import TRACE_ID, a_judged_subject, a_judged_trace, a_run

from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.ledger import StoredLedger
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.not_judged import NotJudged
from tracejury.schemas.queries.ledger import JudgedState, LedgerEntry, LedgerQuery
from tracejury.schemas.queries.reader import Position
from tracejury.schemas.trajectory import TraceState
from tracejury.schemas.verdicts import Outcome, Subject, SubjectKind

OTHER = "f" * 32
GOAL, LOGIC = "goal-fulfilment", "logical-consistency"
RUN = Subject(SubjectKind.AGENT_RUN, "run-1", TRACE_ID)
WINDOW = Subject(SubjectKind.TURN_WINDOW, "run-1:0-4", TRACE_ID)


@pytest.fixture
def ledger(store: SharedStore) -> StoredLedger:
    """A trace that was judged, a window of it that was superseded, and another one that was sampled out."""
    StoredJudging(store).save([a_judged_trace(judged_at=1), a_judged_trace(trace_id=OTHER, service="desk", runs=())])
    elsewhere = Subject(SubjectKind.AGENT_RUN, "run-9", OTHER)
    StoredLlmJudging(store).save(
        [
            a_judged_subject(GOAL, judged_at=5),
            a_judged_subject(LOGIC, judged_at=4, outcome=Outcome.PENDING),
            a_judged_subject(LOGIC, judged_at=3, outcome=Outcome.SUPERSEDED, subject=WINDOW),
            a_judged_subject(GOAL, judged_at=2, outcome=Outcome.SAMPLED_OUT, subject=elsewhere),
        ]
    )
    return StoredLedger(store)


def told(entries: list[LedgerEntry]) -> list[tuple[str, str, Outcome]]:
    return [(e.word.judge, e.word.subject_id, e.word.outcome) for e in entries]


DONE = (GOAL, "run-1", Outcome.DONE)
PENDING = (LOGIC, "run-1", Outcome.PENDING)
GONE = (LOGIC, "run-1:0-4", Outcome.SUPERSEDED)
SAMPLED_OUT = (GOAL, "run-9", Outcome.SAMPLED_OUT)
DETECTED = ("detectors", TRACE_ID, Outcome.DONE)
DETECTED_TOO = ("detectors", OTHER, Outcome.DONE)


FILTERS: list[tuple[dict[str, Any], list[tuple[str, str, Outcome]]]] = [
    ({}, [DONE, PENDING, SAMPLED_OUT]),
    ({"everything": True}, [DONE, PENDING, GONE, SAMPLED_OUT, DETECTED, DETECTED_TOO]),
    ({"trace_id": TRACE_ID}, [DONE, PENDING, DETECTED]),
    ({"trace_id": TRACE_ID, "everything": True}, [DONE, PENDING, GONE, DETECTED]),
    ({"trace_id": "9" * 32}, []),
    ({"judge": GOAL}, [DONE, SAMPLED_OUT]),
    ({"judge": "detectors"}, [DETECTED, DETECTED_TOO]),
    ({"outcome": Outcome.PENDING}, [PENDING]),
    ({"outcome": Outcome.SUPERSEDED}, []),
    ({"service": "desk"}, [SAMPLED_OUT]),
    ({"service": "desk' OR 1=1 --"}, []),
    ({"since": 4}, [DONE, PENDING]),
    ({"since": 6}, []),
]


def test_filters(ledger: StoredLedger) -> None:
    """Each alone; latest first."""
    for filters, expected in FILTERS:
        entries = ledger.entries(replace(LedgerQuery(100), **filters))
        assert sorted(told(entries)) == sorted(expected), filters
        at = [e.word.judged_at for e in entries]
        assert at == sorted(at, reverse=True), filters


def test_only_the_last_word_counts(store: SharedStore, ledger: StoredLedger) -> None:
    """A filter on the outcome finds no earlier word, nor does one on the time a word before a later one."""
    StoredLlmJudging(store).save([a_judged_subject(GOAL, judged_at=9, content="new", outcome=Outcome.FAILED)])
    assert told(ledger.entries(LedgerQuery(100, outcome=Outcome.DONE))) == []
    assert told(ledger.entries(LedgerQuery(100, since=5))) == [(GOAL, "run-1", Outcome.FAILED)]


def test_a_word_has_its_place_and_the_verdict_that_stands(ledger: StoredLedger) -> None:
    """Service and agent by name, a window's too; the score is there where one stands."""
    found = {(e.word.judge, e.word.subject_id): e for e in ledger.entries(LedgerQuery(100, everything=True))}
    done = found[GOAL, "run-1"]
    assert (done.service, done.agent) == ("shop", "planner")
    assert done.verdict is not None
    assert done.verdict.score == 2
    assert (found[LOGIC, "run-1:0-4"].agent, found[LOGIC, "run-1:0-4"].verdict) == ("planner", None)
    assert (found["detectors", TRACE_ID].service, found["detectors", TRACE_ID].agent) == ("shop", "")
    assert (found[GOAL, "run-9"].service, found[GOAL, "run-9"].agent) == ("desk", "")


def test_words_of_exchanges_and_sessions_have_their_place(store: SharedStore, ledger: StoredLedger) -> None:
    """An exchange has the agent of its run; a session of several traces its service and id, and no trace."""
    whole, lone = of_session("desk", "talk/1"), Subject(SubjectKind.SESSION, TRACE_ID, TRACE_ID)
    exchange = Subject(SubjectKind.EXCHANGE, "run-1:0-4", TRACE_ID)
    values = ((whole, 0.25), (lone, 0.5), (exchange, 0.75))
    save(store, *(a_value(LOGIC, subject, value) for subject, value in values), received=1, judged_at=9)
    save(store, a_value(LOGIC, of_session("shop", "other"), 0), received=1, judged_at=9)
    found = {e.word.subject_id: e for e in ledger.entries(LedgerQuery(100)) if e.verdict and e.verdict.value}
    places = [
        (e.word.trace_id, e.service, e.agent, e.session_id, e.verdict and e.verdict.value) for e in found.values()
    ]
    assert sorted(places) == [
        ("", "desk", "", "talk/1", 0.25),
        (TRACE_ID, "shop", "", "", 0.5),
        (TRACE_ID, "shop", "planner", "", 0.75),
    ]
    of_desk = ledger.entries(LedgerQuery(100, service="desk"))
    assert {e.word.subject_id for e in of_desk} == {whole.id, "run-9"}


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_pages_cover_all_words_once(store: SharedStore, size: int) -> None:
    """Also where many were spoken at one time."""
    runs = [replace(RUN, id=f"run-{n}") for n in range(7)]
    StoredLlmJudging(store).save(
        [a_judged_subject(GOAL, judged_at=1 + n // 4, subject=run) for n, run in enumerate(runs)]
    )
    query, seen = LedgerQuery(size), list[str]()
    while page := StoredLedger(store).entries(query):
        seen += [e.word.subject_id for e in page]
        query = replace(query, before=Position(page[-1].word.judged_at, page[-1].id))
    assert sorted(seen) == [run.id for run in runs]


def test_the_summary_counts_whatever_outcome_is_asked_for(ledger: StoredLedger) -> None:
    """By the other filters, in the order in which outcomes are documented."""
    everything = {Outcome.DONE: 1, Outcome.PENDING: 1, Outcome.SAMPLED_OUT: 1}
    assert ledger.summary(LedgerQuery(1)) == everything
    assert list(ledger.summary(LedgerQuery(1))) == [Outcome.DONE, Outcome.PENDING, Outcome.SAMPLED_OUT]
    assert ledger.summary(LedgerQuery(1, outcome=Outcome.FAILED, before=Position(0))) == everything
    assert ledger.summary(LedgerQuery(1, service="desk")) == {Outcome.SAMPLED_OUT: 1}
    assert ledger.summary(LedgerQuery(1, trace_id="9" * 32)) == {}


def test_runs_that_wait_are_counted(store: SharedStore) -> None:
    """Each run once, however many judges it waits for; not windows, not what was judged since."""
    words = [
        a_judged_subject(judge, outcome=Outcome.PENDING, subject=replace(RUN, id=run))
        for run in ("run-1", "run-2") for judge in (GOAL, LOGIC)
    ]  # fmt: skip
    window = a_judged_subject(LOGIC, outcome=Outcome.PENDING, subject=WINDOW)
    exchange = a_judged_subject(LOGIC, outcome=Outcome.PENDING, subject=Subject(SubjectKind.EXCHANGE, "m:0-0", OTHER))
    StoredLlmJudging(store).save(
        [*words, window, exchange, a_judged_subject(GOAL, judged_at=2), a_judged_subject(LOGIC, judged_at=2)]
    )
    assert StoredLedger(store).pending_subjects([TRACE_ID, OTHER]) == {TRACE_ID: 1, OTHER: 1}
    assert StoredLedger(store).pending_subjects([]) == {}


def test_what_was_seen_of_a_trace(store: SharedStore) -> None:
    """Its state and how many agent runs it has; nothing before it was judged."""
    assert StoredLedger(store).judged_trace(TRACE_ID) is None
    StoredJudging(store).save(
        [a_judged_trace(state=TraceState.OPEN, runs=(a_run(turns=()), a_run(id="run-2", turns=())))]
    )
    assert StoredLedger(store).judged_trace(TRACE_ID) == JudgedState(TraceState.OPEN, 2, NotJudged.NO_CALLS)
    other = StoredLedger(store, "x")
    assert (other.judged_trace(TRACE_ID), other.entries(LedgerQuery(100))) == (None, [])


def test_a_failed_detector_is_the_reason_of_its_word(store: SharedStore) -> None:
    """Detectors give no reason of their own: what failed in them is it."""
    judged = a_judged_trace()
    failed = replace(judged, judgement=replace(judged.judgement, failures=(("loops", "ValueError: x"), ("gap", "y"))))
    StoredJudging(store).save([failed])
    (entry,) = StoredLedger(store).entries(LedgerQuery(1, trace_id=TRACE_ID))
    assert entry.word.reason == "loops: ValueError: x; gap: y"
