"""Judging where the store, the memory or a rule fails: nothing is left behind, nobody waits for ever."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import pytest
from judging_bench import KEY, TRACE, Bench, Booms, span

from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.store.unjudged import OthersTime
from tracejury.judges.suite import Suite
from tracejury.processors.assemble import SECOND, AssemblerConfig, TraceKey
from tracejury.schemas.errors import RetryableError
from tracejury.schemas.findings import FindingState
from tracejury.schemas.spans import LogRecord, Span
from tracejury.schemas.trajectory import KnownRuns, Trace
from tracejury.schemas.verdicts import JudgedTrace


class Stumbling(StoredJudging):
    """A store that cannot save the first time."""

    stumbles = 1

    def save(self, judged: Sequence[JudgedTrace]) -> None:
        if self.stumbles:
            self.stumbles -= 1
            raise RetryableError("passing")
        super().save(judged)


def test_what_could_not_be_saved_is_judged_again(store: SharedStore) -> None:
    """A passing failure of the store costs a delay, no finding."""
    bench = Bench(store, reading=Stumbling(store))
    bench.commit(span("1", output="boom"))
    with pytest.raises(RetryableError):
        bench.wait(0.1)
    assert bench.states() == {}
    bench.wait(6)
    assert bench.states() == {"1".rjust(16, "0"): FindingState.CURRENT}


class Unreadable(StoredJudging):
    """A store that cannot read some traces, nor others together with them."""

    def __init__(self, store: SharedStore, traces: set[str]) -> None:
        super().__init__(store)
        self.traces = traces

    def of(self, tenant: str) -> StoredJudging:
        assert tenant == ""
        return self

    def load_spans(self, trace_ids: Sequence[str]) -> dict[str, tuple[list[Span], list[LogRecord]]]:
        if self.traces.intersection(trace_ids):
            raise RetryableError("too much memory")
        return super().load_spans(trace_ids)


def steps(bench: Bench, count: int) -> None:
    """Judge on, whatever fails."""
    for _ in range(count):
        with contextlib.suppress(RetryableError):
            bench.judging.step()


def test_what_could_not_be_read_is_judged_later(store: SharedStore) -> None:
    """A passing failure while traces are read leaves none of them behind."""
    reading = Unreadable(store, {TRACE})
    bench = Bench(store, reading=reading)
    bench.commit(span("1", output="boom"), tell=False)
    asked = bench.judging.ask([KEY])
    steps(bench, 10)
    assert not asked.done()
    reading.traces = set()
    bench.now += 61 * SECOND
    steps(bench, 2)
    assert [j.subject.trace_id for j in asked.result(0)] == [TRACE]
    assert bench.states() == {"1".rjust(16, "0"): FindingState.CURRENT}


def test_a_trace_that_can_never_be_read_stops_no_other(store: SharedStore) -> None:
    """The others are judged in smaller steps."""
    bench = Bench(store, reading=Unreadable(store, {TRACE}))
    others = [f"{n:032x}" for n in range(1, 41)]
    bench.commit(*(span("1", output="boom", trace_id=t) for t in (TRACE, *others)), tell=False)
    bench.judging.sweep()
    steps(bench, 60)
    assert sorted(bench.stored.load_findings(others)) == others


def test_traces_that_memory_cannot_hold_together_are_all_judged(store: SharedStore) -> None:
    """Reading one lets go of another; none is taken for judged, and whoever waits gets all."""
    bench = Bench(store, config=AssemblerConfig(max_bytes=1))
    ids = [f"{n:032x}" for n in range(1, 6)]
    bench.commit(*(span("1", output="boom", trace_id=t) for t in ids[:3]))
    bench.commit(*(span("1", output="boom", trace_id=t) for t in ids[3:]), tell=False)
    asked = bench.judging.ask([("", t) for t in ids])
    bench.now += 6 * SECOND
    steps(bench, len(ids))
    assert {j.subject.trace_id: len(j.findings) for j in asked.result(0)} == dict.fromkeys(ids, 1)


def test_nobody_waits_for_a_collector_that_stops(store: SharedStore) -> None:
    """Whoever asked, or asks afterwards, is told to try again."""
    bench = Bench(store)
    asked = bench.judging.ask([KEY])
    bench.judging.stop(0)
    for future in (asked, bench.judging.ask([KEY])):
        with pytest.raises(RetryableError, match="stopping"):
            future.result(0)


class Unsweepable(StoredJudging):
    """A store too large, or too busy, to look for unjudged traces."""

    def unjudged(self, version: str, limit: int, others: OthersTime | None = None) -> list[TraceKey]:  # noqa: ARG002  the base's signature
        raise RetryableError("too much memory")


def test_a_sweep_that_fails_does_not_stop_judging(store: SharedStore) -> None:
    """It is tried again later; what arrives meanwhile is judged."""
    bench = Bench(store, reading=Unsweepable(store))
    with pytest.raises(RetryableError):
        bench.judging.sweep_if_due()
    bench.judging.sweep_if_due()
    bench.now += 11 * SECOND
    with pytest.raises(RetryableError):
        bench.judging.sweep_if_due()


class Failing(Suite):
    """A suite with a bug that one trace brings out."""

    broken = True

    def judge(self, trace: Trace, known: KnownRuns | None = None, *more: Any):  # type: ignore[no-untyped-def]  # noqa: ANN201  as above
        if self.broken and trace.trace_id == TRACE:
            raise ZeroDivisionError
        return super().judge(trace, known, *more)


def test_a_trace_that_cannot_be_judged_keeps_its_findings_and_stops_no_other(store: SharedStore) -> None:
    """A judge's failure is not a verdict; the ledger says why."""
    suite = Failing([Booms()])
    bench = Bench(store, suite)
    suite.broken = False
    bench.commit(span("2", "1", "boom"))
    bench.wait(0.1)
    suite.broken = True
    bench.commit(span("3", "1", "boom"), span("4", output="boom", trace_id="b" * 32))
    assert bench.wait(1) == 2
    assert set(bench.states()) == {"2".rjust(16, "0")}
    assert FindingState.RETRACTED not in bench.states().values()
    assert len(bench.stored.load_findings(["b" * 32])["b" * 32]) == 1
    assert bench.watch.failed == 1
    failed = next(j for j in bench.watch.judgings if j.judgement.outcome == "failed")
    assert "ZeroDivisionError" in failed.judgement.failures[0][1]
