"""Results that nobody waits for are stored together, within a second; what somebody waits for takes them along."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from judging_bench import TRACE, Bench, span

from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.processors.assemble import SECOND
from tracejury.schemas.findings import FindingState
from tracejury.schemas.verdicts import JudgedTrace

OTHER = "b" * 32


def stored(store: SharedStore) -> dict[str, str]:
    """The state in which each trace was last judged, as stored."""
    rows = store.rows("SELECT TraceId, TraceState FROM judgements FINAL WHERE SubjectKind = 'trace'")
    return {row[0]: row[1] for row in rows}


def step(bench: Bench, seconds: float) -> None:
    """Let time pass, and one step of the thread run."""
    bench.now += round(seconds * SECOND)
    bench.judging.worker.step()


def test_a_result_without_news_waits_for_a_second(store: SharedStore) -> None:
    """Until then the trace counts as not judged: a process that ends loses nothing."""
    bench = Bench(store)
    bench.commit(span("2", "1"))
    step(bench, 0)
    step(bench, 0.1)
    assert len(bench.watch.judgings) == 1
    assert stored(store) == {}
    assert not bench.judging.idle
    assert Bench(store).judging.sweep() == 1
    step(bench, 0.9)
    assert stored(store) == {}
    step(bench, 0.1)
    assert stored(store) == {TRACE: "open"}


def test_a_new_finding_takes_along_those_that_wait(store: SharedStore) -> None:
    """A finding is readable at once."""
    bench = Bench(store)
    bench.commit(span("2", "1"))
    step(bench, 0)
    step(bench, 0.1)
    bench.commit(span("2", "1", "boom", trace_id=OTHER))
    step(bench, 0)
    assert stored(store) == {}
    step(bench, 0.1)
    assert stored(store) == {TRACE: "open", OTHER: "open"}


def test_a_finding_that_settles_is_current_at_once(store: SharedStore) -> None:
    """Whoever sees the trace settled sees its findings so."""
    bench = Bench(store)
    bench.commit(span("1", output="boom"))
    bench.commit(span("2", "9", trace_id=OTHER))  # stays open
    step(bench, 0)
    step(bench, 0.1)
    step(bench, 5)
    assert bench.states() == {"1".rjust(16, "0"): FindingState.CURRENT}
    assert stored(store)[TRACE] == "settled"


def test_a_request_is_answered_from_the_store(store: SharedStore) -> None:
    """Whoever asks for a trace reads it next."""
    bench = Bench(store)
    bench.commit(span("1"))
    step(bench, 0)
    step(bench, 6)
    future = bench.judging.ask([("", TRACE)])
    step(bench, 0)
    assert [judgement.subject.trace_id for judgement in future.result(0)] == [TRACE]
    assert stored(store) == {TRACE: "settled"}


def test_the_end_of_the_thread_stores_what_waits(store: SharedStore) -> None:
    """A clean stop leaves nothing to the next start."""
    bench = Bench(store)
    bench.commit(span("1"))
    bench.commit(span("2", "9", trace_id=OTHER))
    step(bench, 0)
    step(bench, 6)
    assert stored(store) == {}
    bench.judging.stop(1)
    assert stored(store) == {TRACE: "settled", OTHER: "open"}


def test_without_other_open_traces_nothing_waits(store: SharedStore) -> None:
    """There is nobody to wait for."""
    bench = Bench(store)
    bench.commit(span("1"))
    step(bench, 0)
    step(bench, 6)
    assert stored(store) == {TRACE: "settled"}
    assert bench.judging.idle


@pytest.mark.parametrize(("idle", "pause"), [(0.06, 0.064), (0.36, 0.016)])
def test_after_an_insert_new_findings_wait_the_longer_the_busier_judging_is(
    store: SharedStore, idle: float, pause: float
) -> None:
    """An insert of 40 ms after 60 ms without work: .4 of the time times four inserts. The first waits for nothing."""

    class Slow(StoredJudging):
        def save(self, judged: Sequence[JudgedTrace]) -> None:
            super().save(judged)
            bench.now += SECOND // 25

    bench = Bench(store, reading=Slow(store))
    traces = [f"{number:032x}" for number in range(1, 4)]
    for trace_id, seconds in zip(traces, (0.05, idle, 0.05), strict=True):
        bench.commit(span("2", "1", "boom", trace_id=trace_id))
        bench.judging.worker.step()
        step(bench, seconds)
    assert len(bench.watch.judgings) == len(traces)
    left = pause - 0.05
    assert set(stored(store)) == set(traces[:2] if left > 0 else traces)
    if left > 0:
        assert bench.judging.next_due() == pytest.approx(bench.now + left * SECOND)
        step(bench, left)
        assert set(stored(store)) == set(traces)
