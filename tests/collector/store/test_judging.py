"""What judging reads and writes: every save can be repeated, and what is not finished is found again."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest
from store_parts import SPAN_ID, TRACE_ID, a_finding, a_judged_trace, a_log, a_span

from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.reading import StoredReading
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.checks import ItemAnswer
from tracejury.schemas.errors import RetryableError, StoreError
from tracejury.schemas.findings import FindingState
from tracejury.schemas.rows import LOG_COLUMNS, SPAN_COLUMNS, log_columns, span_columns
from tracejury.schemas.spans import LogRecord, Span
from tracejury.schemas.trajectory import TraceState
from tracejury.schemas.verdicts import JudgedTrace, Outcome, Subject, SubjectKind, Verdict

OTHER = "f" * 32
TABLES = ("findings", "verdicts", "traces", "judgements")


def put(store: SharedStore, *rows: Span | LogRecord, received_at: int) -> None:
    spans = [r for r in rows if isinstance(r, Span)]
    logs = [r for r in rows if isinstance(r, LogRecord)]
    store.insert("logs", LOG_COLUMNS, log_columns(logs, received_at))
    store.insert("spans", SPAN_COLUMNS, span_columns(spans, received_at))


def visible(store: SharedStore) -> dict[str, list[str]]:
    """All rows that can be seen in the judging tables."""
    return {t: sorted(map(str, store.rows(f"SELECT * FROM {t} FINAL"))) for t in TABLES}


def unjudged(store: SharedStore, version: str = "v1", limit: int = 100) -> list[str]:
    return [trace_id for _, trace_id in StoredJudging(store).unjudged(version, limit)]


def test_known_rows_counts_what_is_stored_of_a_trace(store: SharedStore) -> None:
    """Copies count once, log records too, and a judging as one more; a trace without rows is absent."""
    put(store, a_span(), a_span(span_id="c" * 16), a_span(trace_id=OTHER), received_at=1)
    put(store, a_span(), received_at=2)
    judging = StoredJudging(store)
    assert judging.known_rows([TRACE_ID, OTHER, "9" * 32]) == {TRACE_ID: 2, OTHER: 1}
    assert judging.known_rows([]) == {}
    put(store, a_log(), a_log(time=1), received_at=3)
    put(store, a_log(), received_at=4)
    judging.save([a_judged_trace(trace_id=OTHER, judged_at=n) for n in (1, 2)])
    assert judging.known_rows([TRACE_ID, OTHER]) == {TRACE_ID: 4, OTHER: 2}


def test_load_spans_by_trace_with_logs(store: SharedStore) -> None:
    """Each trace's rows in order of time, logs beside; unknown traces are absent."""
    spans = [a_span(span_id=f"{n:016x}", start=n) for n in (3, 1, 2)]
    put(store, *spans, a_log(time=2), a_log(time=1), a_span(trace_id=OTHER), received_at=1)
    found = StoredJudging(store).load_spans([TRACE_ID, "9" * 32])
    assert found == {TRACE_ID: (sorted(spans, key=lambda s: s.start), [a_log(time=1), a_log(time=2)])}


def test_findings_come_back_as_they_were(store: SharedStore) -> None:
    """Every field, in any state, with and without a turn."""
    findings = [
        a_finding(judge="full", tool_span_id="t", seen_by_span_id="s", also_at=("x", "y"), linked=("z",), first_seen=1),
        a_finding(judge="bare", turn=None, agent_run_id="", dimensions=(), first_seen=2, evidence="\x00\\'é😀"),
        *(a_finding(judge=state.value, state=state, first_seen=3 + n) for n, state in enumerate(FindingState)),
    ]
    StoredJudging(store).save([a_judged_trace(*findings)])
    assert StoredJudging(store).load_findings([TRACE_ID, OTHER]) == {TRACE_ID: findings}


def test_verdicts_come_back_as_they_were(store: SharedStore) -> None:
    """Scored, not applicable and unscored ones, those of checks; the latest of each judge on each subject."""
    subject = Subject(SubjectKind.AGENT_RUN, "run-1", TRACE_ID)
    verdicts = (
        Verdict("plan", "v", subject, 2, "model", reasons="because", sampling_probability=0.25),
        Verdict("goal", "v", subject, None, not_applicable=True),
        Verdict("loop", "v", subject, 1, quote_dropped=True),
        Verdict("tools", "v", subject, None, unscored_reason="the model did not answer"),
        Verdict(
            "states",
            "v",
            subject,
            None,
            value=0.5,
            raw=1 / 3,
            numerator=1,
            denominator=2,
            items=(
                ItemAnswer("looks up é\x00", "yes", best=True),
                ItemAnswer("books", "no", best=False, reason="guessed", label="E1.S2", trace_id=TRACE_ID, quote="card"),
                ItemAnswer("says so", "no", best=False, span_id="b" * 16, grounded=False),
            ),
        ),
    )
    judged = a_judged_trace(judged_at=2)
    older = a_judged_trace(judged_at=1)
    StoredJudging(store).save([with_verdicts(judged, verdicts)])
    StoredJudging(store).save([with_verdicts(older, (Verdict("plan", "w", subject, 0),))])
    assert sorted(StoredReading(store).load_verdicts([TRACE_ID])[TRACE_ID], key=lambda v: v.judge) == sorted(
        verdicts, key=lambda v: v.judge
    )


def with_verdicts(judged: JudgedTrace, verdicts: tuple[Verdict, ...]) -> JudgedTrace:
    return replace(judged, judgement=replace(judged.judgement, verdicts=verdicts))


def test_saving_again_changes_nothing(store: SharedStore) -> None:
    """The same judging stored twice, or after a newer one, leaves what the newest said; in any order."""
    first = a_judged_trace(a_finding(judge="a"), a_finding(judge="b"), judged_at=1, state=TraceState.OPEN)
    second = a_judged_trace(
        a_finding(judge="b", confidence=0.5), a_finding(judge="c"), judged_at=2, received=2,
        retracted=(a_finding(judge="a", state=FindingState.RETRACTED),),
    )  # fmt: skip
    judging = StoredJudging(store)
    judging.save([first])
    judging.save([second])
    expected = visible(store)
    for order in permutations((first, second, second)):
        for judged in order:
            judging.save([judged])
        assert visible(store) == expected
    states = {f.judge: f.state for f in judging.load_findings([TRACE_ID])[TRACE_ID]}
    assert states == {"a": FindingState.RETRACTED, "b": FindingState.CURRENT, "c": FindingState.CURRENT}


def test_many_traces_in_one_save(store: SharedStore) -> None:
    """A hundred traces take one insert a table."""
    ids = [f"{n:032x}" for n in range(1, 101)]
    StoredJudging(store).save([a_judged_trace(a_finding(trace_id=i), trace_id=i) for i in ids])
    assert set(StoredJudging(store).load_findings(ids)) == set(ids)
    for table in ("findings", "traces", "judgements"):
        sql = (
            "SELECT count() FROM system.parts WHERE database = currentDatabase() AND table = {stored:String} AND active"
        )
        assert store.cluster or store.rows(sql, {"stored": store.stored(table)}) == [(1,)]


def test_nothing_to_save(store: SharedStore) -> None:
    """An empty save does nothing."""
    StoredJudging(store).save([])
    assert visible(store) == {t: [] for t in TABLES}


def test_a_judging_that_was_interrupted_counts_as_not_done(store: SharedStore) -> None:
    """The judgement is written last: when the store fails before it, the trace is found again and saved again."""
    if store.cluster:
        pytest.skip("no table of a cluster is renamed")
    put(store, a_span(), received_at=5)
    store.command("RENAME TABLE judgements TO away")
    judged = a_judged_trace(a_finding(), received=5)
    with pytest.raises(RetryableError):
        StoredJudging(store).save([judged])
    store.command("RENAME TABLE away TO judgements")
    assert unjudged(store) == [TRACE_ID]
    StoredJudging(store).save([judged])
    assert unjudged(store) == []
    assert len(StoredJudging(store).load_findings([TRACE_ID])[TRACE_ID]) == 1


def test_what_can_never_be_stored_is_a_store_error(store: SharedStore) -> None:
    """Text that no engine takes (a lone surrogate) is not retried forever."""
    with pytest.raises(StoreError):
        StoredJudging(store).save([a_judged_trace(a_finding(evidence="\ud800"))])


@pytest.mark.parametrize(("arrived", "judged_through", "found"), [(5, 4, True), (5, 5, False), (5, 6, False)])
def test_a_trace_with_newer_spans_is_unjudged(
    store: SharedStore, arrived: int, judged_through: int, *, found: bool
) -> None:
    """Newer than what the last judging saw, to the nanosecond."""
    put(store, a_span(), received_at=arrived)
    StoredJudging(store).save([a_judged_trace(received=judged_through)])
    assert unjudged(store) == ([TRACE_ID] if found else [])


def test_a_trace_never_judged_is_unjudged_and_the_earliest_comes_first(store: SharedStore) -> None:
    """All traces of all tenants, the earliest arrival first, so that a sweep after the other reaches them all."""
    for n in range(1, 5):
        put(store, a_span(trace_id=f"{n:032x}", tenant="x" if n == 3 else ""), received_at=n)
    assert StoredJudging(store).unjudged("v1", 3) == [("", f"{1:032x}"), ("", f"{2:032x}"), ("x", f"{3:032x}")]


@pytest.mark.parametrize("state", list(TraceState))
def test_a_trace_last_judged_open_is_unjudged(store: SharedStore, state: TraceState) -> None:
    """It still has to settle; a settled or incomplete one has not."""
    put(store, a_span(), received_at=1)
    StoredJudging(store).save([a_judged_trace(state=state)])
    assert bool(unjudged(store)) == (state is TraceState.OPEN)


@pytest.mark.parametrize(("outcome", "version", "found"), [(Outcome.FAILED, "v1", False), (Outcome.FAILED, "v2", True),
                                                           (Outcome.DONE, "v2", False)])  # fmt: skip
def test_a_failed_judging_is_repeated_by_another_version(
    store: SharedStore, outcome: Outcome, version: str, *, found: bool
) -> None:
    """The same version would fail again; a newer one may not. What was judged by another version stands."""
    put(store, a_span(), received_at=1)
    StoredJudging(store).save([a_judged_trace(outcome=outcome, version="v1")])
    assert bool(unjudged(store, version)) == found


def test_a_newer_judging_counts(store: SharedStore) -> None:
    """The last judging decides, in whatever order the two were stored."""
    put(store, a_span(), received_at=5)
    newer, older = a_judged_trace(judged_at=2, received=5), a_judged_trace(judged_at=1, received=3, version="v0")
    for judged in (newer, older):
        StoredJudging(store).save([judged])
    assert unjudged(store) == []


def test_late_logs_make_a_trace_unjudged(store: SharedStore) -> None:
    """Content may arrive as logs; logs alone, without a span, are no trace."""
    put(store, a_span(), a_log(trace_id=OTHER), received_at=1)
    StoredJudging(store).save([a_judged_trace(received=1)])
    assert unjudged(store) == []
    put(store, a_log(), received_at=2)
    assert unjudged(store) == [TRACE_ID]


def test_a_copy_that_lost_is_no_news(store: SharedStore) -> None:
    """A later copy with an earlier end is never read, so it does not ask for judging again and again."""
    put(store, a_span(end=10), received_at=1)
    StoredJudging(store).save([a_judged_trace(received=1)])
    put(store, a_span(end=5), received_at=2)
    assert unjudged(store) == []
    put(store, a_span(end=11), received_at=3)
    assert unjudged(store) == [TRACE_ID]


def test_one_tenant_sees_nothing_of_another(store: SharedStore) -> None:
    """The same trace id of two tenants: spans and findings apart."""
    put(store, a_span(tenant="a"), received_at=1)
    StoredJudging(store).save([a_judged_trace(a_finding(tenant="a"), tenant="a")])
    assert StoredJudging(store).load_spans([TRACE_ID]) == {}
    assert StoredJudging(store).load_findings([TRACE_ID]) == {}
    assert StoredJudging(store).known_rows([TRACE_ID]) == {}
    assert StoredJudging(store, "a").known_rows([TRACE_ID]) == {TRACE_ID: 2}
    assert [f.span_id for f in StoredJudging(store, "a").load_findings([TRACE_ID])[TRACE_ID]] == [SPAN_ID]
