"""Judging over the real store: step by step, with an injected clock."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import pytest

from tracejury.collector.pipeline.inbox import Inbox
from tracejury.collector.pipeline.judging import Judging, JudgingStore
from tracejury.collector.store.client import Store
from tracejury.collector.store.committer import Committed, Committer, WriterCounters
from tracejury.collector.store.dead_letter import DeadLetterFolder
from tracejury.collector.store.judging import StoredJudging
from tracejury.judges.base import Context
from tracejury.judges.suite import Suite
from tracejury.judges.text import TextCache
from tracejury.processors.assemble import SECOND, AssemblerConfig, TraceKey
from tracejury.schemas.batch import Batch
from tracejury.schemas.errors import RetryableError
from tracejury.schemas.findings import Draft, FindingState
from tracejury.schemas.spans import LogRecord, Span
from tracejury.schemas.taxonomy import Dimension, Severity
from tracejury.schemas.trajectory import Trace
from tracejury.schemas.verdicts import JudgedTrace

pytestmark = pytest.mark.store

T0 = 1_700_000_000 * SECOND
TRACE = "a" * 32
KEY: TraceKey = ("", TRACE)


@dataclass(frozen=True, slots=True)
class Booms:
    """A detector: every span whose output says boom, unless the trace's root says all is well."""

    name: str = "booms"
    version: int = 1

    def detect(self, trace: Trace, ctx: Context) -> Iterable[Draft]:  # noqa: ARG002  the protocol's signature
        if any(s.output_text == "all is well" for s in trace.spans.values() if not s.raw.parent_span_id):
            return
        for span in trace.spans.values():
            if "boom" in span.output_text:
                yield Draft(
                    "",
                    span.span_id,
                    "Tool-related",
                    (Dimension.TOOL_CALLING,),
                    Severity.HIGH,
                    0.9,
                    "boom",
                    "it went boom",
                )


class Watch:
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.judgings: list[JudgedTrace] = []
        self.failed = 0

    def judged(self, judged: JudgedTrace, cost: int) -> None:  # noqa: ARG002  the protocol's signature
        self.judgings.append(judged)

    def saved(self, judged: Sequence[JudgedTrace], now: int) -> None: ...

    def failed_trace(self) -> None:
        self.failed += 1


class Bench:
    """Judging with a clock that only `wait` moves."""

    def __init__(
        self,
        store: Store,
        suite: Suite | None = None,
        reading: JudgingStore | None = None,
        config: AssemblerConfig | None = None,
    ) -> None:
        self.now = T0
        self.watch = Watch()
        self.inbox = Inbox(1 << 20)
        self.stored = StoredJudging(store)
        folder = DeadLetterFolder(store.folder or pytest.fail("embedded"), 1)
        self.committer = Committer(store, folder, WriterCounters(), clock=lambda: self.now)
        self.judging = Judging(
            reading or self.stored,
            suite or Suite([Booms()]),
            config or AssemblerConfig(),
            self.inbox,
            self.watch,
            clock=lambda: self.now,
            timer=lambda: 0,
        )

    def commit(self, *spans: Span, logs: Sequence[LogRecord] = (), tell: bool = True) -> None:
        """Store the spans; without `tell` judging does not hear of them (as after a crash)."""
        batch = Batch(spans, logs, 100)
        (outcome,) = self.committer.commit([batch])
        assert isinstance(outcome, Committed)
        if tell:
            self.inbox.put(batch, outcome.received_at)

    def wait(self, seconds: float) -> int:
        """Let time pass and judge what is due; returns how many traces were judged."""
        self.judging.step(0)
        self.now += round(seconds * SECOND)
        return self.judging.step(0)

    def states(self) -> dict[str, FindingState]:
        """The stored findings' states by span id."""
        return {f.span_id: f.state for f in self.stored.load_findings([TRACE]).get(TRACE, ())}


def span(span_id: str, parent: str = "", output: str = "", trace_id: str = TRACE) -> Span:
    span_id = span_id.rjust(16, "0")
    return Span(
        trace_id, span_id, parent and parent.rjust(16, "0"), "work", 1, 2,
        {"openinference.span.kind": "CHAIN", "output.value": output}, service="shop",
    )  # fmt: skip


def test_a_finding_is_stored_while_the_trace_is_open_and_confirmed_when_it_settles(store: Store) -> None:
    """Provisional first, current after five quiet seconds with an ended root; then nothing is held."""
    bench = Bench(store)
    bench.commit(span("2", "1", "boom"))
    assert bench.wait(0.1) == 1
    assert bench.states() == {"2".rjust(16, "0"): FindingState.PROVISIONAL}
    bench.commit(span("1"))
    bench.wait(1)
    assert bench.wait(5) == 1
    assert bench.states() == {"2".rjust(16, "0"): FindingState.CURRENT}
    assert bench.judging.idle


def test_a_late_span_opens_a_settled_trace_again_and_corrects_it(store: Store) -> None:
    """What no longer holds is retracted, not left standing."""
    bench = Bench(store)
    bench.commit(span("2", "1", "boom"))
    bench.wait(601)
    assert bench.states() == {"2".rjust(16, "0"): FindingState.CURRENT}
    assert bench.judging.idle
    bench.commit(span("1", output="all is well"))
    bench.wait(0.1)
    assert bench.states() == {"2".rjust(16, "0"): FindingState.RETRACTED}


def test_what_an_earlier_process_left_unjudged_is_found(store: Store) -> None:
    """Nothing depends on memory: committed but never heard of, or judged only while open."""
    before = Bench(store)
    before.commit(span("2", "1", "boom"), tell=False)
    before.commit(span("9", output="boom", trace_id="b" * 32))
    before.wait(0.1)
    after = Bench(store)
    after.now = T0 + 700 * SECOND
    assert after.judging.sweep() == 2
    after.wait(0)
    assert after.states() == {"2".rjust(16, "0"): FindingState.CURRENT}
    assert after.judging.sweep() == 0


def test_a_trace_seen_before_is_read_back_with_its_findings(store: Store) -> None:
    """A second process judges the whole trace, not only the spans that it received."""
    first = Bench(store)
    first.commit(span("2", "1", "boom"))
    first.wait(0.1)
    second = Bench(store)
    second.now = T0 + 10 * SECOND
    second.commit(span("3", "1", "boom"))
    second.wait(0.1)
    assert set(second.states()) == {"2".rjust(16, "0"), "3".rjust(16, "0")}
    found = second.stored.load_findings([TRACE])[TRACE]
    assert {f.span_id: f.first_seen for f in found}["2".rjust(16, "0")] == T0 + SECOND // 10


def test_a_settled_trace_that_is_sent_again_keeps_its_first_sight(store: Store) -> None:
    """Also where the new request holds every span of it, so that nothing of it seems to be missing."""
    bench = Bench(store)
    bench.commit(span("1", output="boom"))
    bench.wait(6)
    before = bench.stored.load_findings([TRACE])
    bench.now += 100 * SECOND
    bench.commit(span("1", output="boom"))
    bench.wait(6)
    assert bench.stored.load_findings([TRACE]) == before


def test_a_settled_trace_that_is_sent_again_corrected_loses_its_findings(store: Store) -> None:
    """What no longer holds is retracted, also where every span of the trace is new."""
    bench = Bench(store)
    bench.commit(span("1", output="boom"))
    bench.wait(6)
    bench.commit(replace(span("1", output="fine"), end=3))
    bench.wait(6)
    assert bench.states() == {"1".rjust(16, "0"): FindingState.RETRACTED}


def test_an_older_copy_of_a_settled_trace_is_no_news(store: Store) -> None:
    """What is judged is what the store shows: of two copies of a span the one that ended later."""
    bench = Bench(store)
    bench.commit(replace(span("1", output="fine"), end=3))
    bench.wait(6)
    bench.commit(span("1", output="boom"))
    bench.wait(6)
    assert bench.states() == {}


def test_log_records_that_came_before_any_span_are_judged_with_them(store: Store) -> None:
    """However long before: a live judging sees what one of the stored rows sees."""
    bench = Bench(store)
    record = LogRecord(TRACE, "1".rjust(16, "0"), 1, 1, body="a remark")
    bench.commit(logs=[record])
    bench.wait(1)
    bench.commit(span("1"))
    bench.wait(1)
    live = bench.watch.judgings[-1].trace.spans["1".rjust(16, "0")].log_text
    assert "a remark" in live


def test_judging_again_changes_nothing(store: Store) -> None:
    """The same outcome is neither written anew nor given another time."""
    bench = Bench(store)
    bench.commit(span("1", output="boom"))
    bench.wait(6)
    before = bench.stored.load_findings([TRACE])
    bench.now += 100 * SECOND
    future = bench.judging.ask([KEY])
    bench.wait(0)
    (judgement,) = future.result(0)
    assert len(judgement.findings) == 1
    assert bench.watch.judgings[-1].changed == ()
    assert bench.stored.load_findings([TRACE]) == before


def test_asking_for_an_unknown_trace_is_answered_with_nothing(store: Store) -> None:
    """Nobody waits for ever."""
    bench = Bench(store)
    future = bench.judging.ask([("", "f" * 32)])
    bench.wait(0)
    assert future.result(0) == []
    assert bench.judging.ask([]).result(0) == []
    assert bench.judging.idle


class Stumbling(StoredJudging):
    """A store that cannot save the first time."""

    stumbles = 1

    def save(self, judged: Sequence[JudgedTrace]) -> None:
        if self.stumbles:
            self.stumbles -= 1
            raise RetryableError("passing")
        super().save(judged)


def test_what_could_not_be_saved_is_judged_again(store: Store) -> None:
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

    def __init__(self, store: Store, traces: set[str]) -> None:
        super().__init__(store)
        self.traces = traces

    def load_spans(self, trace_ids: Sequence[str]) -> dict[str, tuple[list[Span], list[LogRecord]]]:
        if self.traces.intersection(trace_ids):
            raise RetryableError("too much memory")
        return super().load_spans(trace_ids)


def steps(bench: Bench, count: int) -> None:
    """Judge on, whatever fails."""
    for _ in range(count):
        with contextlib.suppress(RetryableError):
            bench.judging.step(0)


def test_what_could_not_be_read_is_judged_later(store: Store) -> None:
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


def test_a_trace_that_can_never_be_read_stops_no_other(store: Store) -> None:
    """The others are judged in smaller steps."""
    bench = Bench(store, reading=Unreadable(store, {TRACE}))
    others = [f"{n:032x}" for n in range(1, 41)]
    bench.commit(*(span("1", output="boom", trace_id=t) for t in (TRACE, *others)), tell=False)
    bench.judging.sweep()
    steps(bench, 60)
    assert sorted(bench.stored.load_findings(others)) == others


def test_traces_that_memory_cannot_hold_together_are_all_judged(store: Store) -> None:
    """Reading one lets go of another; none is taken for judged, and whoever waits gets all."""
    bench = Bench(store, config=AssemblerConfig(max_bytes=1))
    ids = [f"{n:032x}" for n in range(1, 6)]
    bench.commit(*(span("1", output="boom", trace_id=t) for t in ids[:3]))
    bench.commit(*(span("1", output="boom", trace_id=t) for t in ids[3:]), tell=False)
    asked = bench.judging.ask([("", t) for t in ids])
    bench.now += 6 * SECOND
    steps(bench, len(ids))
    assert {j.subject.trace_id: len(j.findings) for j in asked.result(0)} == dict.fromkeys(ids, 1)


def test_nobody_waits_for_a_collector_that_stops(store: Store) -> None:
    """Whoever asked, or asks afterwards, is told to try again."""
    bench = Bench(store)
    asked = bench.judging.ask([KEY])
    bench.judging.stop(0)
    for future in (asked, bench.judging.ask([KEY])):
        with pytest.raises(RetryableError, match="stopping"):
            future.result(0)


class Unsweepable(StoredJudging):
    """A store too large, or too busy, to look for unjudged traces."""

    def unjudged(self, version: str, limit: int) -> list[TraceKey]:  # noqa: ARG002  the protocol's signature
        raise RetryableError("too much memory")


def test_a_sweep_that_fails_does_not_stop_judging(store: Store) -> None:
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

    def judge(self, trace: Trace, texts: TextCache | None = None):  # type: ignore[no-untyped-def]  # noqa: ANN201  as above
        if self.broken and trace.trace_id == TRACE:
            raise ZeroDivisionError
        return super().judge(trace, texts)


def test_a_trace_that_cannot_be_judged_keeps_its_findings_and_stops_no_other(store: Store) -> None:
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


def test_a_service_is_introduced_once_its_root_is_there(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    """A sub-agent's span comes before the manager's: what is on its way is not called missing."""
    caplog.set_level(logging.INFO, "tracejury")
    bench = Bench(store)
    agent = {"openinference.span.kind": "AGENT"}
    bench.commit(replace(span("2", "1"), attributes=agent))
    bench.wait(1)
    assert caplog.messages == []
    bench.commit(replace(span("1"), attributes=agent))
    bench.wait(1)
    assert len(caplog.messages) == 1
    assert "service shop" in caplog.messages[0]
    assert "root span" not in caplog.messages[0]
