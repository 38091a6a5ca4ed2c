"""The real store under a watch, and batches for the group commit."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Any

from store_parts import TRACE_ID, a_span

from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.store.writer import GroupCommitWriter
from tracejury.schemas.batch import Batch


class WatchedStore(SharedStore):
    """The real store; inserts of spans are counted, and wait while `gate` is shut.

    `faults`: what the insert of that number (from 0) raises instead.
    """

    gate: threading.Event
    faults: dict[int, Exception]
    inserts: list[int]
    writers: list[GroupCommitWriter]

    async def start_writer(self, *config: Any, **more: Any) -> GroupCommitWriter:
        """A group commit over this store, which is stopped with the test."""
        writer = GroupCommitWriter(self, *config, **more)
        await writer.start()
        self.writers.append(writer)
        return writer

    def insert(self, table: str, names: Sequence[str], columns: Sequence[Sequence[Any]], **options: Any) -> None:
        if table == "spans" and columns[0]:
            assert self.gate.wait(30)
            self.inserts.append(len(columns[0]))
            fault = self.faults.get(len(self.inserts) - 1)
            if fault is not None:
                raise fault
        super().insert(table, names, columns, **options)


def batch(number: int, *, text: str = "", size: int = 1, spans: int = 1) -> Batch:
    """Spans whose ids start with `number`."""
    return Batch([a_span(span_id=f"{number:08x}{n:08x}", name=text) for n in range(spans)], (), size)


def stored(store: SharedStore) -> set[int]:
    """The numbers of the batches of which spans are stored."""
    spans, _ = StoredJudging(store).load_spans([TRACE_ID]).get(TRACE_ID, ([], []))
    return {int(s.span_id[:8], 16) for s in spans}


async def until(condition: Callable[[], bool]) -> None:
    """Let the loop run until it is so."""
    while not condition():  # noqa: ASYNC110  what is waited for is the state of the part under test
        await asyncio.sleep(0)


async def group_behind_a_first(store: WatchedStore, writer: GroupCommitWriter, batches: Sequence[Batch]) -> list[Any]:
    """Submit one batch, and while its insert runs all of `batches`: they form the next group. The latter's outcomes."""
    groups = writer.counters.groups
    store.gate.clear()
    first = asyncio.create_task(writer.submit(batch(0xFFFF)))
    await until(lambda: writer.counters.groups > groups)
    tasks = [asyncio.create_task(writer.submit(b)) for b in batches]
    await until(lambda: writer.queue_batches == 1 + len(batches))
    assert not first.done()
    store.gate.set()
    outcomes = await asyncio.gather(first, *tasks, return_exceptions=True)
    return list(outcomes[1:])
