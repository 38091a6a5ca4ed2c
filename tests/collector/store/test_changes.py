"""What others store on a server: each change once, however late it becomes readable, by no process's clock."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from clickhouse_http import ClickHouseServer, clickhouse_server
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import sized
from store_parts import a_finding, a_judged_trace, a_log, a_span

from tracejury.collector.store.changes import OFTEN, OVERLAP, START, WIDE_EVERY, Cursor, StoredChange, StoredChanges
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.server_time import ServerTime
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.store.unjudged import OthersTime
from tracejury.processors.assemble import SECOND
from tracejury.schemas.rows import LOG_COLUMNS, SPAN_COLUMNS, log_columns, span_columns
from tracejury.schemas.trajectory import TraceState

NOON = 1_700_000_000 * SECOND
FIRST, SECOND_ID, THIRD = (letter * 32 for letter in "abc")


@pytest.fixture
def server(store_folder: Path) -> Iterator[ClickHouseServer]:
    with clickhouse_server(store_folder) as server:
        yield server


@pytest.fixture
def pair(server: ClickHouseServer, store: SharedStore) -> Iterator[tuple[SharedStore, SharedStore]]:
    """Two processes on one server."""
    stores = [SharedStore.open(f"{server.dsn}/{store.database}") for _ in range(2)]
    stores[0].role = "receive"
    yield stores[0], stores[1]
    for one in stores:
        one.close()


def insert(store: SharedStore, received: int, *trace_ids: str) -> None:
    spans = [a_span(trace_id=trace_id) for trace_id in trace_ids]
    store.insert("spans", SPAN_COLUMNS, span_columns(spans, received))


rows = st.lists(
    st.tuples(
        st.integers(0, 90),  # stored, in half seconds
        st.one_of(st.integers(0, 3), st.integers(0, OVERLAP // SECOND)),  # seconds until it is readable
        st.sampled_from([FIRST, SECOND_ID]),
        st.sampled_from(["all-1", "receive-2"]),
    ),
    max_size=30,
    unique_by=lambda row: (row[0], row[2], row[3]),  # an insert of one process has one time
)
steps = st.lists(st.one_of(st.just(SECOND), st.integers(-2 * SECOND, 40 * SECOND)), min_size=1, max_size=60)


@settings(max_examples=sized(100, 2000), deadline=None)
@given(rows, steps)
def test_each_change_is_given_once(stored: Sequence[tuple[int, int, str, str]], steps: Sequence[int]) -> None:
    """Rows that become readable late, at equal times, in any order; readings fail, pause, and see a clock set back."""
    changes = [
        (at + late * SECOND, StoredChange(("", trace), by, at, 1, is_final=False, has_findings=False))
        for half, late, trace, by in stored
        for at in [NOON + half * SECOND // 2]
    ]
    cursor, given_, now, seen = Cursor(NOON - START), Counter[StoredChange](), NOON - SECOND, NOON - SECOND
    for step in [*steps, 200 * SECOND, WIDE_EVERY]:
        now += step
        seen = max(seen, now)  # what is readable stays so
        since = cursor.since(now)
        found = [change for readable, change in changes if readable <= seen and change.at >= since]
        if step % 5 == 3:
            continue  # the store failed
        given_.update(cursor.take(found, now))
    assert given_.keys() == {change for _, change in changes}
    if min(steps) >= 0:  # after a clock was set back some may be told again
        assert set(given_.values()) <= {1}


def test_most_readings_are_narrow() -> None:
    """What was read is read again for a few seconds, and now and then for as long as a row may be late."""
    cursor = Cursor(NOON)
    backs = []
    for second in range(1, 31):
        now = NOON + second * SECOND
        backs.append((now - cursor.since(now)) // SECOND)
        cursor.take([], now)
    assert backs.count((OFTEN + SECOND) // SECOND) == 27
    assert backs.count((OVERLAP + WIDE_EVERY) // SECOND) == 3
    assert len(cursor._given) == 0


def test_rows_and_judgements_of_others(pair: tuple[SharedStore, SharedStore]) -> None:
    """By the server's time, whatever their clocks say; nothing of one's own, and nothing twice."""
    one, other = pair
    now = ServerTime(one).align()
    behind, ahead = (now + minutes * 60 * SECOND for minutes in (-300, 300))
    mine, others = (StoredChanges(store, now - SECOND, reads_rows=True) for store in pair)
    insert(one, behind, FIRST, SECOND_ID)
    insert(other, ahead, THIRD)
    one.insert("logs", LOG_COLUMNS, log_columns([a_log(trace_id=FIRST), a_log(trace_id="")], behind))
    StoredJudging(one).save([
        a_judged_trace(a_finding(trace_id=FIRST), trace_id=FIRST, received=behind),
        a_judged_trace(trace_id=SECOND_ID, received=behind, state=TraceState.OPEN),
    ])  # fmt: skip
    later = ServerTime(one).align()
    told = others.read(later)
    assert {(c.key[1], c.by, c.received, c.is_final) for c in told.arrived} == {
        (FIRST, one.stored_by, behind, True), (SECOND_ID, one.stored_by, behind, True),
        (FIRST, one.stored_by, behind, False),
    }  # fmt: skip
    assert {(c.key[1], c.received, c.is_final, c.has_findings) for c in told.judged} == {
        (FIRST, behind, True, True), (SECOND_ID, behind, False, False),
    }  # fmt: skip
    assert all(now <= change.at <= later for change in (*told.arrived, *told.judged))
    assert [(c.key[1], c.received) for c in mine.read(later).arrived] == [(THIRD, ahead)]
    again = others.read(ServerTime(one).align())
    assert not again.arrived
    assert not again.judged


def test_rows_without_a_process(store: SharedStore, server: ClickHouseServer) -> None:
    """An embedded store names nobody; its rows, as an earlier version's, were stored when they arrived."""
    insert(store, NOON, FIRST)
    assert store.rows("SELECT StoredBy, toUnixTimestamp64Nano(StoredAt) FROM spans") == [("", NOON)]
    remote = SharedStore.open(f"{server.dsn}/{store.database}")
    now = ServerTime(remote).align()
    insert(store, now, SECOND_ID)
    found = StoredChanges(remote, now - SECOND, reads_rows=True).read(now).arrived
    assert [(change.key[1], change.by) for change in found] == [(SECOND_ID, "")]
    remote.close()


@pytest.mark.parametrize("minutes", [-5, 0, 5])
def test_the_time_of_the_server(minutes: int, store: SharedStore) -> None:
    """Of a process whose clock is wrong, and set anew meanwhile."""
    wrong = [minutes * 60 * SECOND]
    server_time = ServerTime(store, lambda: time.time_ns() + wrong[0])
    for _ in range(2):
        assert abs(server_time() - time.time_ns()) < 5 * SECOND
        wrong[0] += 60 * SECOND
        assert abs(server_time.align() - time.time_ns()) < 5 * SECOND


def test_a_sweep_leaves_others_their_time(pair: tuple[SharedStore, SharedStore]) -> None:
    """For a trace that was just stored, and for an open one without its root; no note goes beyond what they have."""
    one, other = pair
    now = ServerTime(one).align()
    insert(one, now + 300 * SECOND, FIRST)
    rootless = a_span(trace_id=SECOND_ID, parent_span_id="f" * 16)
    one.insert("spans", SPAN_COLUMNS, span_columns([rootless], now))
    seen, traces = now + 300 * SECOND, (FIRST, SECOND_ID)
    StoredJudging(one).save([a_judged_trace(trace_id=i, received=seen, state=TraceState.OPEN) for i in traces])
    judging = StoredJudging(other)
    both, none = [("", SECOND_ID), ("", FIRST)], OthersTime(0, 0)
    assert judging.unjudged("v1", 10) == judging.unjudged("v1", 10, none) == both
    assert judging.unjudged("v1", 10, OthersTime(0, 600 * SECOND)) == [("", FIRST)]
    assert judging.unjudged("v1", 10, OthersTime(600 * SECOND, 0)) == []
    assert other.rows("SELECT count() FROM sweeps WHERE Through > {now:Int64}", {"now": now}) == [(0,)]
    assert judging.unjudged_among([("", FIRST), ("", THIRD)], "v1") == [("", FIRST)]
    StoredJudging(one).save([a_judged_trace(trace_id=FIRST, received=now + 300 * SECOND, judged_at=2)])
    assert judging.unjudged_among([("", FIRST)], "v1") == []
