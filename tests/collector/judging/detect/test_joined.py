"""Runs that are written into several traces: judged as one, each finding at the trace of its own span."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from judging_bench import T0, Bench, span
from stored_readers import stored_reader

from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.reading import StoredReading
from tracejury.collector.store.shared_store import SharedStore
from tracejury.processors.assemble import SECOND, AssemblerConfig
from tracejury.schemas.errors import RetryableError
from tracejury.schemas.findings import FindingState
from tracejury.schemas.queries.reader import Confidence, TraceQuery
from tracejury.schemas.spans import Span, SpanLink
from tracejury.schemas.trajectory import TraceState
from tracejury.schemas.verdicts import JudgedTrace

ONE, TWO, THREE = "1" * 32, "2" * 32, "3" * 32
ALL = Confidence(0.0, 0.0)


def linked(span_id: str, to: str, output: str = "", trace_id: str = TWO) -> Span:
    """A root that names the trace that it goes on from."""
    made = span(span_id, output=output, trace_id=trace_id)
    return replace(made, start=10, end=20, links=(SpanLink(to, "1".rjust(16, "0")),))


def reader(store: SharedStore, bench: Bench) -> StoredReader:
    """The API's, at the bench's time."""
    return stored_reader(store, AssemblerConfig(), lambda: bench.now)


def found(bench: Bench) -> dict[tuple[str, str], FindingState]:
    """State of each finding by its own trace and span."""
    stored = bench.stored.load_findings([ONE, TWO, THREE])
    return {(f.trace_id, f.span_id.lstrip("0")): f.state for findings in stored.values() for f in findings}


@pytest.mark.parametrize("first", [ONE, TWO])
def test_linked_traces_are_one_in_whatever_order_they_come(store: SharedStore, first: str) -> None:
    """Either id gives the whole, under the id of the trace that began first; lists show it once."""
    bench = Bench(store)
    parts = {ONE: span("1", output="fine", trace_id=ONE), TWO: linked("2", ONE, "boom")}
    for trace_id in sorted(parts, reverse=first == TWO):
        bench.commit(parts[trace_id])
        bench.wait(7)
    views = [reader(store, bench).trace(i, ALL) for i in (ONE, TWO)]
    for view in views:
        assert view is not None
        assert view.trace.trace_ids == (ONE, TWO)
        assert {s.lstrip("0") for s in view.trace.spans} == {"1", "2"}
        assert [(f.trace_id, f.span_id.lstrip("0")) for f in view.findings] == [(TWO, "2")]
        assert view.trace.state is TraceState.SETTLED
    rows = StoredReading(store).find_traces(TraceQuery(ALL, 10))
    assert [(row.trace_id, row.spans) for row in rows] == [(ONE, 2)]
    assert found(bench) == {(TWO, "2"): FindingState.CURRENT}


def test_a_later_trace_can_change_what_was_found_in_an_earlier_one(store: SharedStore) -> None:
    """What the whole shows is what counts: the root of the first says boom until the last says all is well."""
    bench = Bench(store)
    bench.commit(span("1", output="boom", trace_id=ONE))
    bench.wait(7)
    assert found(bench) == {(ONE, "1"): FindingState.CURRENT}
    bench.commit(linked("2", ONE, "all is well"))
    bench.wait(7)
    assert found(bench) == {(ONE, "1"): FindingState.RETRACTED}


def test_a_joined_run_is_open_as_long_as_one_of_its_traces_is(store: SharedStore) -> None:
    """And all of it closes with the last of them."""
    bench = Bench(store)
    bench.commit(span("1", output="boom", trace_id=ONE))
    bench.wait(7)
    bench.commit(linked("2", ONE, "fine"))
    bench.wait(1)
    assert found(bench) == {(ONE, "1"): FindingState.PROVISIONAL}
    bench.wait(7)
    assert found(bench) == {(ONE, "1"): FindingState.CURRENT}
    assert bench.judging.idle
    assert bench.judging.sweep() == 0


def test_what_an_earlier_process_knew_of_joins_is_known_to_the_next(store: SharedStore) -> None:
    """Keys stand in the store, and so does what leads on from trace to trace."""
    before = Bench(store)
    before.commit(span("1", output="boom", trace_id=ONE))
    before.commit(linked("2", ONE, "fine"))
    before.wait(7)
    after = Bench(store)
    after.now = T0 + 60 * SECOND
    after.commit(linked("3", TWO, "all is well", trace_id=THREE))
    after.wait(7)
    view = reader(store, after).trace(THREE, ALL)
    assert view is not None
    assert view.trace.trace_ids == (ONE, TWO, THREE)
    assert found(after) == {(ONE, "1"): FindingState.RETRACTED}


def test_a_trace_that_leads_nowhere_is_its_own(store: SharedStore) -> None:
    """A link to what was never sent joins nothing, and its trace is judged all the same."""
    bench = Bench(store)
    bench.commit(linked("2", ONE, "boom"))
    bench.commit(span("1", output="boom", trace_id=THREE))
    bench.wait(7)
    assert found(bench) == {(TWO, "2"): FindingState.CURRENT, (THREE, "1"): FindingState.CURRENT}
    rows = StoredReading(store).find_traces(TraceQuery(ALL, 10))
    assert {row.trace_id for row in rows} == {TWO, THREE}


def test_joining_again_changes_nothing(store: SharedStore) -> None:
    """Traces of one run are judged again whenever one of them is; what is stored stays the same."""
    bench = Bench(store)
    bench.commit(span("1", output="boom", trace_id=ONE))
    bench.commit(linked("2", ONE, "boom"))
    bench.wait(7)
    first = found(bench)
    bench.judging.ask([("", ONE), ("", TWO)])
    bench.wait(7)
    assert found(bench) == first == {(ONE, "1"): FindingState.CURRENT, (TWO, "2"): FindingState.CURRENT}


def test_traces_that_are_tied_and_due_together_are_judged_once(store: SharedStore) -> None:
    """Neither is stored as a trace of its own first."""
    bench = Bench(store)
    bench.commit(span("1", output="boom", trace_id=ONE), linked("2", ONE, "boom"))
    bench.wait(1)
    told = [one.trace.trace_id for one in bench.watch.judgings]
    assert sorted(told) == [ONE, TWO]
    assert {one.trace.joined_to for one in bench.watch.judgings} == {"", ONE}


def test_what_could_not_be_stored_at_a_trace_that_was_not_due_is_stored_next(store: SharedStore) -> None:
    """Only one of the two is due, and what is found in the whole changes the other's findings."""

    class Stumbling(StoredJudging):
        stumbles = False

        def save(self, judged: Sequence[JudgedTrace]) -> None:
            if self.stumbles:
                self.stumbles = False
                raise RetryableError("passing")
            super().save(judged)

    reading = Stumbling(store)
    bench = Bench(store, reading=reading)
    bench.commit(span("1", output="boom", trace_id=ONE))
    bench.wait(1)
    bench.commit(linked("2", ONE, "all is well"))
    reading.stumbles = True
    with pytest.raises(RetryableError):
        bench.wait(1)
    assert found(bench) == {(ONE, "1"): FindingState.PROVISIONAL}
    bench.wait(1)
    assert found(bench) == {(ONE, "1"): FindingState.RETRACTED}
