"""Opinions of judges on detectors' findings beside the detectors' own writing, in any order; kept by the store."""

from __future__ import annotations

from dataclasses import replace

import pytest
from store_parts import TRACE_ID, a_finding, a_judged_subject, a_judged_trace

from tracejury.collector.store.detector_opinions import write_opinions
from tracejury.collector.store.errors import StoredErrors
from tracejury.collector.store.given_opinions import GivenOpinions
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.judges.verification import MOST_REFUTED, verified
from tracejury.schemas.detector_opinions import DetectorOpinion
from tracejury.schemas.findings import Finding, FindingState, Verification

FOUND = a_finding()
OPINION = DetectorOpinion.on(FOUND, Verification.REFUTED, "m", "S1 is right.")
KEY = ("", TRACE_ID)


def stored(store: SharedStore) -> Finding:
    (found,) = StoredJudging(store).load_findings([TRACE_ID])[TRACE_ID]
    return found


def opine(store: SharedStore, now: int) -> None:
    write_opinions(store, [OPINION], now)


@pytest.mark.parametrize("judged_at", [5, 10, 20])
@pytest.mark.parametrize("retracted", [False, True])
def test_what_the_detectors_write_next_has_the_opinion_and_is_the_latest(
    store: SharedStore,
    judged_at: int,
    retracted: bool,  # noqa: FBT001  a parameter of the test
) -> None:
    """Whether their pass began before the opinion or after it: they hold the finding as it was."""
    judging = StoredJudging(store)
    judging.save([a_judged_trace(FOUND, judged_at=1)])
    opine(store, 10)
    assert stored(store) == verified(FOUND, Verification.REFUTED, "m", "S1 is right.")
    again = replace(FOUND, explanation="told anew", state=FindingState.RETRACTED if retracted else FindingState.CURRENT)
    found, gone = ((), (again,)) if retracted else ((again,), ())
    judging.save([a_judged_trace(*found, retracted=gone, judged_at=judged_at)])
    now = stored(store)
    assert (now.explanation, now.state, now.verification) == ("told anew", again.state, Verification.REFUTED)
    assert now.confidence == MOST_REFUTED


def test_the_judging_thread_reads_what_was_said_since(store: SharedStore) -> None:
    """Of the traces that it holds; another process reads it from the store."""
    judging = StoredJudging(store)
    judging.save([a_judged_trace(FOUND, judged_at=1)])
    assert judging.reviewed({FOUND.id: FOUND}) == {FOUND.id: FOUND}
    opine(store, 10)
    assert judging.reviewed({FOUND.id: FOUND}) == {FOUND.id: stored(store)}
    other = replace(FOUND, id="0" * 32)
    assert judging.reviewed({other.id: other}) == {other.id: other}
    store.opinions = GivenOpinions(store.deletions)  # as after a restart
    assert judging.reviewed({FOUND.id: stored(store)}) == {FOUND.id: stored(store)}


def test_what_was_retracted_before_the_opinion_stays_so(store: SharedStore) -> None:
    judging = StoredJudging(store)
    judging.save([a_judged_trace(FOUND, judged_at=1)])
    gone = replace(FOUND, state=FindingState.RETRACTED)
    judging.save([a_judged_trace(retracted=(gone,), judged_at=5)])
    opine(store, 10)
    assert stored(store) == gone


def test_a_trace_that_came_anew_after_its_deletion_has_no_opinion(store: SharedStore) -> None:
    """Nothing that was said of what it was holds for what it is."""
    judging = StoredJudging(store)
    judging.save([a_judged_trace(FOUND, judged_at=1, received=3)])
    opine(store, 10)
    store.deletions.hold([KEY], 5)
    store.deletions.let_go([KEY])
    assert judging.reviewed({FOUND.id: FOUND}) == {FOUND.id: FOUND}
    opine(store, 20)
    assert stored(store).verification is Verification.REFUTED, "the row of before, which the deletion removes"
    judging.save([a_judged_trace(replace(FOUND, explanation="anew"), judged_at=30, received=9)])
    assert (stored(store).explanation, stored(store).verification) == ("anew", Verification.NONE)


def test_opinions_saved_with_a_subject_are_the_same_however_often(store: SharedStore) -> None:
    """Saving again after a kill between two writes changes nothing; its error says so."""
    StoredJudging(store).save([a_judged_trace(FOUND, judged_at=1)])
    subject = replace(a_judged_subject(), opinions=(OPINION,))
    for _ in range(3):
        StoredLlmJudging(store).save([subject])
    assert stored(store) == verified(FOUND, Verification.REFUTED, "m", "S1 is right.")
    (error,) = StoredErrors(store).under([TRACE_ID])[TRACE_ID]
    assert error.verification is Verification.REFUTED
