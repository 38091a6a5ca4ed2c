"""Traces below a span of another one: they are one in any order of arrival, after a restart, and never by chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

import pytest
from judging_bench import Bench, span
from stored_readers import stored_reader

from tracejury.collector.store.joins import StoredJoins
from tracejury.collector.store.reading import StoredReading
from tracejury.collector.store.shared_store import SharedStore
from tracejury.processors.assemble import AssemblerConfig
from tracejury.schemas.findings import FindingState
from tracejury.schemas.queries.reader import Confidence, TraceQuery
from tracejury.schemas.spans import Span
from tracejury.schemas.trajectory import TraceState

WHOLE, PART, OTHER = "1" * 32, "2" * 32, "3" * 32
ALL = Confidence(0.0, 0.0)
PARENT = span("1", output="boom", trace_id=WHOLE)
CHILD = span("2", "1", output="boom", trace_id=PART)
SAME_ID = span("1", output="fine", trace_id=OTHER)


def traces(store: SharedStore, bench: Bench) -> dict[str, tuple[Sequence[str], TraceState]]:
    """By id: the traces that each is one with, and its state, as the API tells; lists tell the same number."""
    reader = stored_reader(store, AssemblerConfig(), lambda: bench.now)
    views = {i: view.trace for i in (WHOLE, PART, OTHER) if (view := reader.trace(i, ALL)) is not None}
    rows = StoredReading(store).find_traces(TraceQuery(ALL, 10))
    assert len(rows) == len({v.trace_id for v in views.values()})
    assert {row.state for row in rows} == {v.state for v in views.values()}
    return {i: (view.trace_ids, view.state) for i, view in views.items()}


@pytest.mark.parametrize(
    ("child_first", "wait", "restarts"),
    [
        (True, 0, False),
        (True, 7, False),
        (True, 7, True),
        (True, 700, False),
        (True, 700, True),
        (False, 7, False),
        (False, 700, True),
    ],
)
def test_a_trace_and_the_one_of_its_parent_are_one(
    store: SharedStore, wait: float, *, child_first: bool, restarts: bool
) -> None:
    """Whichever comes first: one row, which settles like any other."""
    bench = Bench(store)
    first, second = (CHILD, PARENT) if child_first else (PARENT, CHILD)
    bench.commit(first)
    bench.wait(wait)
    if restarts:
        bench, before = Bench(store), bench
        bench.now = before.now
        bench.judging.sweep()
    bench.commit(second)
    for _ in range(3):
        bench.wait(6)
    assert traces(store, bench) == dict.fromkeys((WHOLE, PART), ((WHOLE, PART), TraceState.SETTLED))
    assert bench.judging.idle
    found = bench.stored.load_findings([WHOLE, PART])
    assert {(f.trace_id, f.state) for own in found.values() for f in own} == {
        (WHOLE, FindingState.CURRENT),
        (PART, FindingState.CURRENT),
    }


@pytest.mark.parametrize("wait", [0, 700])
@pytest.mark.parametrize("order", list(permutations(range(3))), ids=str)
def test_an_id_of_two_traces_names_no_parent(store: SharedStore, order: tuple[int, ...], wait: float) -> None:
    """Nothing is joined, or no longer once the second one comes, also after a restart."""
    bench = Bench(store)
    for number in order:
        bench.commit((PARENT, CHILD, SAME_ID)[number])
        bench.wait(wait)
        bench, before = Bench(store), bench
        bench.now = before.now
        bench.judging.sweep()
    for _ in range(3):
        bench.wait(601)
    apart = {WHOLE: TraceState.SETTLED, PART: TraceState.INCOMPLETE, OTHER: TraceState.SETTLED}
    assert traces(store, bench) == {i: ((i,), state) for i, state in apart.items()}


def test_a_parent_in_another_project_is_none(store: SharedStore) -> None:
    """Projects know nothing of each other."""
    bench = Bench(store)
    bench.commit(replace(PARENT, tenant="other"), CHILD)
    bench.wait(7)
    bench.wait(7)
    assert traces(store, bench) == {PART: ((PART,), TraceState.OPEN)}
    assert StoredJoins(store).holders([PARENT.span_id], 0, 2) == {}


def test_a_parent_that_comes_last_in_its_own_trace_leaves_nothing(store: SharedStore) -> None:
    """Traces whose parents come have no keys, though they were looked for."""
    bench = Bench(store)
    bench.commit(CHILD)
    bench.wait(7)
    bench.commit(replace(PARENT, trace_id=PART))
    bench.wait(7)
    bench.commit(PARENT)
    bench.wait(7)
    apart = ((WHOLE,), (PART,))
    assert [own for own, _ in traces(store, bench).values()] == list(apart)
    assert not StoredJoins(store).any()
    assert StoredJoins(store).lacking(10) == []


@pytest.mark.parametrize("child_first", [True, False])
def test_a_trace_with_a_root_of_its_own_settles_without_its_left_over_parent(
    store: SharedStore, *, child_first: bool
) -> None:
    """It stays a trace of its own; the span is placed by its time, in the call that was at work."""
    tool = {"openinference.span.kind": "TOOL", "tool.name": "flow"}
    root = replace(span("3", trace_id=PART), start=1, end=90, attributes={"openinference.span.kind": "AGENT"})
    call = replace(span("4", "3", trace_id=PART), start=2, end=50, attributes=tool)
    stray = replace(CHILD, start=3, end=4)
    bench = Bench(store)
    parts: list[tuple[Span, ...]] = [(PARENT,), (root, call, stray)]
    for part in reversed(parts) if child_first else parts:
        bench.commit(*part)
        bench.wait(7)
    bench.wait(7)
    assert traces(store, bench) == {i: ((i,), TraceState.SETTLED) for i in (WHOLE, PART)}
    view = stored_reader(store, AssemblerConfig(), lambda: bench.now).trace(PART, ALL)
    assert view is not None
    assert view.trace.spans[CHILD.span_id].raw.parent_span_id == call.span_id
