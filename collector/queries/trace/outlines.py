"""Outlines of large traces: the latest ones from memory, else as judging kept them, else of their spans alone."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from cachetools import LRUCache

from tracejury.collector.store.outlines import StoredOutlines
from tracejury.collector.store.scope import TENANT, Scope
from tracejury.collector.store.shared_store import SharedStore
from tracejury.processors.trace_outline import NAME, SpanOutline, TraceOutline, from_json
from tracejury.schemas.errors import PermanentError
from tracejury.schemas.normalized import Kind
from tracejury.schemas.spans import STATUS_ERROR
from tracejury.schemas.text.terminal import one_line
from tracejury.schemas.trajectory import Trace, TraceState

from .trace_index import TraceIndex

HUGE: Final = 5_000
"""Stored spans from which a trace shows as it was last judged, whatever has arrived since."""

OUTLINED_SPANS: Final = 80_000
"""Spans of the outlines in memory; one of ten thousand spans has about ten megabytes."""

MOST_SPANS: Final = 2_000
"""Spans of a trace that was never judged: a first answer, while judging has the processor."""

_THESE: Final = f"{TENANT} AND TraceId IN {{trace_ids:Array(String)}}"

_SPANS: Final = f"""
SELECT SpanId, ParentSpanId, leftUTF8(SpanName, {NAME + 1}), Status, StartNanos, EndNanos, ServiceName,
    toUnixTimestamp64Nano(ReceivedAt)
FROM spans FINAL WHERE {TENANT} AND TraceId = {{trace_id:String}} ORDER BY StartNanos, SpanId LIMIT {{most:UInt64}}
"""


class TraceOutlines:
    """Outlines of one tenant's large traces. Safe to use from several threads."""

    def __init__(self, store: SharedStore, tenant: str) -> None:
        self._store, self._stored, self._scope = store, StoredOutlines(store, tenant), Scope(store, tenant)
        self._lock = threading.Lock()
        self._recent: LRUCache[str, TraceIndex] = LRUCache(
            OUTLINED_SPANS, lambda made: min(made.outline.spans, OUTLINED_SPANS)
        )

    def find(self, trace_id: str, newest: Mapping[str, int]) -> TraceIndex | None:
        """One that shows the trace; of a huge one that was never judged, its first spans. None: it is to be rebuilt.

        `newest`: when the latest row of each trace that it may be one with arrived.
        """
        with self._lock:
            recent = self._recent.get(trace_id)
        if recent is not None and self._shows(recent.outline, newest):
            return recent
        for text in self._stored.load(list(newest)):
            kept = _read(text)
            if kept and trace_id in kept.trace_ids and self._shows(kept, newest):
                return self.put(trace_id, TraceIndex(kept))
        return self._unjudged(trace_id) if self.count_spans(newest) >= HUGE else None

    def put(self, trace_id: str, made: TraceIndex) -> TraceIndex:
        """Keep an outline in memory in place of an earlier one."""
        with self._lock:
            self._recent[trace_id] = made
        return made

    def drop(self, trace_id: str) -> None:
        """Drop the outline in memory."""
        with self._lock:
            self._recent.pop(trace_id, None)

    def count_spans(self, trace_ids: Iterable[str]) -> int:
        """The stored spans of these traces."""
        sql = f"SELECT uniqExact(SpanId) FROM spans WHERE {_THESE}"
        return int(self._scope.select(sql, trace_ids=sorted(trace_ids))[0][0])

    def stays(self, trace: Trace | TraceOutline) -> bool:
        """Not deleted since it was as it is."""
        deletions = self._store.deletions
        return all(deletions.stays((trace.tenant, i), trace.received_through) for i in trace.trace_ids)

    def _shows(self, outline: TraceOutline, newest: Mapping[str, int]) -> bool:
        """Complete; or open or huge, and not deleted since: it is judged again before it could be rebuilt."""
        is_open = outline.state is TraceState.OPEN
        if not is_open and max(newest.values()) <= outline.received_through:
            return True
        return self.stays(outline) and (is_open or self.count_spans(newest) >= HUGE)

    def _unjudged(self, trace_id: str) -> TraceIndex | None:
        """The first spans of a trace, without reading what they hold, as its remainder; None where it has none."""
        rows = self._scope.select(_SPANS, trace_id=trace_id, most=MOST_SPANS)
        if not rows:
            return None
        outline = TraceOutline(
            trace_id=trace_id,
            trace_ids=(trace_id,),
            tenant=self._scope.tenant,
            service=next((row[6] for row in rows if row[6]), ""),
            session_id="",
            state=TraceState.OPEN,
            conventions=(),
            spans=len(rows),
            start=min(row[4] for row in rows),
            end=max(row[5] for row in rows),
            received_through=max(row[7] for row in rows),
            llm_calls=0,
            input_tokens=None,
            output_tokens=None,
            rebuilt=False,
            large=True,
            remainder=tuple(
                SpanOutline(
                    span_id=row[0],
                    parent_id=row[1],
                    name=one_line(row[2], NAME),
                    kind=Kind.OTHER.value,
                    failed=row[3] == STATUS_ERROR,
                    start=row[4],
                    end=max(row[4], row[5]),
                )
                for row in rows
            ),
        )
        return TraceIndex(outline)


def _read(text: str) -> TraceOutline | None:
    try:
        with _without_garbage_collection():
            return from_json(text)
    except PermanentError:  # one that cannot be read is made anew
        return None


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """For a tenth of a second: an outline is up to a million objects, and collections would double its time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
