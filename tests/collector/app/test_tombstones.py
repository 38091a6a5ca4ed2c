"""A deleted trace stays deleted for the time that is set, whoever sends it again and whenever it was under way."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from judging_bench import KEY, T0, TRACE, Bench, span

from tracejury.collector.store.committer import Committed, Committer, WriterCounters
from tracejury.collector.store.dead_letter import DeadLetterFolder
from tracejury.collector.store.deletion import Deletion
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.store.tombstones import Tombstones
from tracejury.processors.assemble import SECOND
from tracejury.schemas.batch import Batch
from tracejury.schemas.queries.deletion import DeleteQuery
from tracejury.schemas.spans import LogRecord

OTHER = "b" * 32
DAY = 86_400 * SECOND


def deleted(store: SharedStore, days: float = 2.0) -> Bench:
    """A store whose one trace was deleted just now."""
    store.config = store.config.model_copy(update={"tombstone_days": days})
    bench = Bench(store)
    bench.commit(span("1"))
    bench.wait(6)
    assert Deletion(store, bench.judging, clock=lambda: bench.now).delete(DeleteQuery(trace_id=TRACE)).traces == 1
    return bench


def stored(store: SharedStore) -> list[tuple[str, str]]:
    """Trace and span of each stored span."""
    return sorted(tuple(row) for row in store.rows("SELECT TraceId, SpanId FROM spans FINAL"))


@pytest.mark.parametrize(("passed", "stays"), [(0, True), (2 * DAY - 1, True), (2 * DAY, False), (3 * DAY, False)])
def test_what_is_sent_again_is_left_out_until_the_time_is_over(store: SharedStore, passed: int, stays: bool) -> None:  # noqa: FBT001
    """Spans and log records; another trace in the same request is stored."""
    bench = deleted(store)
    bench.now += passed
    record = LogRecord(TRACE, "1" * 16, 1, 1, body="again")
    batch = Batch([span("1"), span("2", trace_id=OTHER)], [record], 100)
    (outcome,) = bench.committer.commit([batch])
    assert isinstance(outcome, Committed)
    assert len(outcome.stored) == (1 if stays else 3)
    assert [trace for trace, _ in stored(store)] == ([OTHER] if stays else [TRACE, OTHER])
    assert store.rows("SELECT count() FROM logs FINAL") == [(0 if stays else 1,)]


def test_without_a_time_a_trace_begins_anew(store: SharedStore) -> None:
    """As the operator chose."""
    bench = deleted(store, days=0)
    bench.commit(span("2"))
    assert stored(store) == [(TRACE, "2".rjust(16, "0"))]


def test_it_stays_deleted_after_a_restart(store: SharedStore) -> None:
    """What the next process reads from the store is what this one knew."""
    deleted(store)
    next_one = Tombstones()
    next_one.load(store, T0)
    assert next_one.until([KEY]) == store.tombstones.until([KEY])
    assert next_one.until([KEY]) >= T0 + 2 * DAY
    next_one.load(store, T0 + 3 * DAY)
    assert len(next_one) == 0


def test_an_insert_under_way_leaves_nothing(store: SharedStore, tmp_path: Path) -> None:
    """It began before the deletion and ends while that waits for it: the trace is gone all the same."""
    store.config = store.config.model_copy(update={"tombstone_days": 1})
    bench = Bench(store)
    bench.commit(span("1"))
    begun, go_on = threading.Event(), threading.Event()

    class SlowStore:
        """The store, whose next insert of spans waits."""

        def __getattr__(self, name: str) -> Any:
            return getattr(store, name)

        def insert(self, table: str, names: Sequence[str], columns: Sequence[Sequence[Any]], **options: Any) -> None:
            begun.set()
            assert go_on.wait(30)
            store.insert(table, names, columns, **options)

    committer = Committer(SlowStore(), DeadLetterFolder(tmp_path, 1), WriterCounters(), clock=lambda: bench.now)  # type: ignore[arg-type]
    inserting = threading.Thread(target=committer.commit, args=([Batch([span("2")], (), 10)],))
    inserting.start()
    assert begun.wait(30)
    deletion = Deletion(store, bench.judging, clock=lambda: bench.now)
    deleting = threading.Thread(target=deletion.delete, args=(DeleteQuery(trace_id=TRACE),))
    deleting.start()
    deleting.join(0.2)
    assert deleting.is_alive()  # it waits for what was being written
    go_on.set()
    inserting.join(30)
    deleting.join(30)
    assert stored(store) == []


def test_a_longer_time_is_not_shortened() -> None:
    """By a later deletion with a shorter one."""
    tombstones = Tombstones()
    tombstones.add([KEY], 10)
    tombstones.add([KEY], 5)
    assert tombstones.until([KEY]) == 10
    tombstones.expire(10)
    assert len(tombstones) == 0
