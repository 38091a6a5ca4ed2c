"""Figures of the overview: how soon findings came, which services are new, what judges said by version."""

from __future__ import annotations

from dataclasses import replace

import pytest
from store_parts import TRACE_ID, a_finding, a_judged_subject, a_judged_trace, a_run

from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.pipeline_stats import MOST_FINDINGS, StoredPipelineStats
from tracejury.collector.store.shared_store import SharedStore
from tracejury.judges.verification import verified
from tracejury.schemas.findings import FindingState, Verification
from tracejury.schemas.queries.pipeline_stats import Timeliness, VerifierSeen
from tracejury.schemas.rates import Sums
from tracejury.schemas.verdicts import Outcome, Subject, SubjectKind

T0 = 1_795_169_386_000_000_000
SECOND = 1_000_000_000
OTHER = "f" * 32


def span_arrived(store: SharedStore, number: int, at: int, trace_id: str = TRACE_ID) -> str:
    """A span of that number that arrived `at` nanos after T0; its id."""
    span_id = f"{number:016x}"
    store.command(
        "INSERT INTO spans (TraceId, SpanId, SpanName, StartNanos, EndNanos, ReceivedAt) "
        f"VALUES ('{trace_id}', '{span_id}', 'chat', 1, 2, fromUnixTimestamp64Nano({T0 + at}))"
    )
    return span_id


def found(store: SharedStore, *at: tuple[str, int], **fields: object) -> None:
    """Findings at spans, first seen so many nanos after T0."""
    findings = [a_finding(span_id=span, first_seen=T0 + seen, **fields) for span, seen in at]
    StoredJudging(store).save([a_judged_trace(*findings)])


def test_lateness_is_from_the_spans_first_arrival_to_the_first_finding(store: SharedStore) -> None:
    """p50 and p95 by nearest rank; a second copy of a span and a second finding at it change nothing."""
    for number in range(20):
        span_arrived(store, number, 0)
    span_arrived(store, 3, 50 * SECOND)
    found(store, *((f"{n:016x}", (n + 1) * SECOND) for n in range(20)))
    told = StoredPipelineStats(store).timeliness(T0, T0 + 3600 * SECOND)
    assert told == Timeliness(20, 10 * SECOND, 19 * SECOND)


def test_nothing_found_is_not_fast(store: SharedStore) -> None:
    """Without findings there is no figure."""
    assert StoredPipelineStats(store).timeliness(T0, T0 + SECOND) == Timeliness(0, None, None)


def test_lateness_counts_what_holds_in_that_time_and_service(store: SharedStore) -> None:
    """Superseded findings, others' and those of another time are left out; earlier than its span's copy is 0."""
    for number in range(3):
        span_arrived(store, number, 10 * SECOND)
    gone = a_finding(span_id=f"{0:016x}", first_seen=T0 + 11 * SECOND, state=FindingState.RETRACTED)
    early = a_finding(span_id=f"{1:016x}", first_seen=T0 + 9 * SECOND)
    later = a_finding(span_id=f"{2:016x}", first_seen=T0 + 99 * SECOND)
    StoredJudging(store).save([a_judged_trace(gone, early, later, service="shop")])
    pipeline_stats = StoredPipelineStats(store)
    assert pipeline_stats.timeliness(T0, T0 + 99 * SECOND) == Timeliness(1, 0, 0)
    assert pipeline_stats.timeliness(T0, T0 + 99 * SECOND, "shop").findings == 1
    assert pipeline_stats.timeliness(T0, T0 + 99 * SECOND, "desk").findings == 0


def test_lateness_rests_on_the_latest_findings(store: SharedStore) -> None:
    """So that it takes no longer the more there are."""
    numbers = f"'{TRACE_ID}', leftPad(hex(number), 16, '0') AS Id, {{}} FROM numbers({MOST_FINDINGS + 5})"
    spans = numbers.format(f"'chat', 1, 2, fromUnixTimestamp64Nano({T0})")
    findings = numbers.format(f"Id, 'current', {T0} + number, 1")
    spans_columns = "TraceId, SpanId, SpanName, StartNanos, EndNanos, ReceivedAt"
    store.command(f"INSERT INTO spans ({spans_columns}) SELECT {spans}")
    store.command(f"INSERT INTO findings (TraceId, SpanId, Id, State, FirstSeen, JudgedAt) SELECT {findings}")
    told = StoredPipelineStats(store).timeliness(T0, T0 + SECOND)
    assert told.findings == MOST_FINDINGS
    assert told.p50 == 5 + MOST_FINDINGS // 2 - 1


def test_new_services_have_no_older_trace(store: SharedStore) -> None:
    """Those of which something came before are not new; nor is what names no service."""
    judging = StoredJudging(store)
    for number, (service, received) in enumerate([("old", 1), ("old", 50), ("new", 40), ("newer", 60), ("", 70)]):
        judging.save([a_judged_trace(trace_id=f"{number:032x}", service=service, received=T0 + received)])
    pipeline_stats = StoredPipelineStats(store)
    assert pipeline_stats.new_services(T0 + 30, 10) == ["newer", "new"]
    assert pipeline_stats.new_services(T0 + 30, 1) == ["newer"]
    assert StoredPipelineStats(store, "someone").new_services(T0 + 30, 10) == []


def of_run(number: int) -> Subject:
    return Subject(SubjectKind.AGENT_RUN, f"run-{number}", TRACE_ID)


def test_outcomes_are_the_last_words_on_runs(store: SharedStore) -> None:
    """By judge; windows, detectors and what a later word replaced are left out."""
    StoredJudging(store).save([a_judged_trace(received=T0)])
    window = Subject(SubjectKind.TURN_WINDOW, "run-1:0-4", TRACE_ID)
    StoredLlmJudging(store).save(
        [
            a_judged_subject(judged_at=1, received=T0, outcome=Outcome.FAILED, subject=of_run(1)),
            a_judged_subject(judged_at=2, received=T0, version="v2", subject=of_run(1)),
            a_judged_subject(judged_at=2, received=T0, subject=of_run(2)),
            a_judged_subject("other", judged_at=2, received=T0, outcome=Outcome.OVER_BUDGET, subject=of_run(1)),
            a_judged_subject(judged_at=9, received=T0, subject=window),
        ]
    )
    pipeline_stats = StoredPipelineStats(store)
    told = pipeline_stats.outcomes(T0, T0 + 1)
    assert told == {"goal-fulfilment": {Outcome.DONE: 2}, "other": {Outcome.OVER_BUDGET: 1}}
    assert pipeline_stats.outcomes(T0 + 1, T0 + 2) == {}
    assert pipeline_stats.outcomes(T0, T0 + 1, "shop") == told
    assert pipeline_stats.outcomes(T0, T0 + 1, "desk") == {}


def test_looks_at_findings_are_counted_by_who_looked_and_whose_they_are(store: SharedStore) -> None:
    """Those that hold, of that time and service; what nobody looked at is in no sum."""
    made = [a_finding(evidence=f"quote {n}", first_seen=T0) for n in range(6)]
    kinds = [Verification.VERIFIED, Verification.VERIFIED, Verification.REFUTED, Verification.UNVERIFIED]
    looked = [verified(one, kind, "m") for one, kind in zip(made, kinds, strict=False)]
    gone = replace(verified(made[4], Verification.REFUTED, "m"), state=FindingState.RETRACTED)
    StoredJudging(store).save([a_judged_trace(*looked, gone, made[5], received=T0)])
    of_judge = verified(a_finding(judge="goal-fulfilment", first_seen=T0), Verification.REFUTED, "other")
    StoredLlmJudging(store).save([a_judged_subject("goal-fulfilment", of_judge, received=T0)])
    stats = StoredPipelineStats(store)
    assert stats.verifiers(T0, T0 + 1, "shop") == [
        VerifierSeen("other", detectors=False, verified=0, refuted=1, unverified=0),
        VerifierSeen("m", detectors=True, verified=2, refuted=1, unverified=1),
    ]
    assert stats.verifiers(T0 + 1, T0 + 2) == []
    assert stats.verifiers(T0, T0 + 1, "desk") == []


@pytest.mark.parametrize(
    ("counts", "habit"),
    [
        ((30, 0, 0), "verified"),
        ((0, 30, 0), "refuted"),
        ((0, 0, 30), "unverified"),
        ((29, 0, 0), ""),
        ((95, 5, 0), "verified"),
        ((94, 5, 1), ""),
        ((0, 0, 0), ""),
    ],
)
def test_the_habit_of_a_verifier(counts: tuple[int, int, int], habit: str) -> None:
    """One answer in 95 of 100, over at least 30 looks."""
    assert VerifierSeen("m", False, *counts).habit == habit  # noqa: FBT003


def test_versions_are_summed_as_they_were_sampled(store: SharedStore) -> None:
    """Each version by its own last word on each run; what was asked by hand or failed is in no sum."""
    runs = tuple(a_run(id=f"run-{n}") for n in range(4))
    StoredJudging(store).save([a_judged_trace(received=T0, runs=runs)])
    finding = a_finding(judge="goal-fulfilment")
    said = [
        a_judged_subject("goal-fulfilment", finding, judged_at=1, received=T0, subject=of_run(0), probability=0.5),
        a_judged_subject("goal-fulfilment", judged_at=2, received=T0, subject=of_run(1)),
        a_judged_subject("goal-fulfilment", finding, judged_at=3, received=T0, content="old", subject=of_run(2)),
        a_judged_subject("goal-fulfilment", judged_at=4, received=T0, content="new", subject=of_run(2)),
        a_judged_subject("goal-fulfilment", finding, judged_at=5, received=T0, subject=of_run(3), probability=0.0),
        a_judged_subject("goal-fulfilment", finding, judged_at=9, received=T0, version="v2", subject=of_run(0)),
    ]
    StoredLlmJudging(store).save(said)
    newer, older = StoredPipelineStats(store).versions("goal-fulfilment", T0, T0 + 1)
    assert (newer.version, newer.first, newer.last) == ("v2", 9, 9)
    assert newer.sums == Sums(1, 1, 1, 1, *([1.0] * 11))
    assert (older.version, older.first, older.last) == ("v1", 1, 4)
    assert older.sums == Sums(3, 3, 1, 1, 4.0, 6.0, 4.0, 6.0, 2.0, 4.0, 4.0, 2.0, 4.0, 4.0, 4.0)


def test_what_was_said_of_a_run_that_went_to_another_trace_is_in_no_version(store: SharedStore) -> None:
    """It was taken back: an older word of the same version, on what the run was before, does not come up again.

    Of another model, or asked by hand, it makes no difference; a run that came back counts by its new word.
    """
    StoredJudging(store).save([a_judged_trace(received=T0, runs=tuple(a_run(id=f"run-{n}") for n in range(3)))])
    said = [
        a_judged_subject(judged_at=1, received=T0, content="old", subject=of_run(0), model="m"),
        a_judged_subject(judged_at=2, received=T0, content="new", subject=of_run(0), model="m"),
        a_judged_subject(judged_at=3, received=T0 + 5, content="new", subject=of_run(0), outcome=Outcome.SUPERSEDED),
        a_judged_subject(judged_at=1, received=T0, content="old", subject=of_run(1)),
        a_judged_subject(judged_at=2, received=T0, content="new", subject=of_run(1), probability=0.0),
        a_judged_subject(
            judged_at=3, received=T0, content="new", subject=of_run(1), outcome=Outcome.SUPERSEDED, probability=0.0
        ),
        a_judged_subject(judged_at=1, received=T0, content="old", subject=of_run(2)),
        a_judged_subject(judged_at=3, received=T0, content="new", subject=of_run(2), outcome=Outcome.SUPERSEDED),
        a_judged_subject(judged_at=4, received=T0, content="newer", subject=of_run(2)),
    ]
    StoredLlmJudging(store).save(said)
    (only,) = StoredPipelineStats(store).versions("goal-fulfilment", T0, T0 + 1)
    assert (only.first, only.last, only.sums.n) == (4, 4, 1)
