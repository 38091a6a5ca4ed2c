"""Traces rebuilt lately, as many as fit a bound in bytes, the least recently used out first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from ....processors.assemble import span_size
from ....schemas.trajectory import Trace
from ...outline import outline_of
from .places import Places

MAX_BYTES: Final = 64 * 1024 * 1024
_COPIES: Final = 2
"""What was read of a span is about as large as the span."""


@dataclass(slots=True)
class Rebuilt:
    """A rebuilt trace; `places` are made at first use."""

    trace: Trace
    size: int
    _places: Places | None = None

    @property
    def places(self) -> Places:
        """Its outline as a tree."""
        if self._places is None:
            self._places = Places(outline_of(self.trace))
        return self._places


class RecentTraces:
    """Rebuilt traces by any of their ids. Safe to use from several threads; `limit` in bytes."""

    def __init__(self, limit: int = MAX_BYTES) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, Rebuilt] = OrderedDict()
        self._first: dict[str, str] = {}
        self._bytes = 0

    def get(self, trace_id: str) -> Rebuilt | None:
        """The trace of that id, or the one that it is part of."""
        with self._lock:
            first = self._first.get(trace_id, trace_id)
            found = self._kept.get(first)
            if found is not None:
                self._kept.move_to_end(first)
            return found

    def put(self, trace: Trace) -> Rebuilt:
        """Keep a trace in place of what was kept of any of its ids; one that is larger than the limit is not kept."""
        size = _COPIES * sum(span_size(span.raw) for span in trace.spans.values())
        made = Rebuilt(trace, size)
        with self._lock:
            for trace_id in trace.trace_ids:
                self._drop(self._first.get(trace_id, trace_id))
            if size <= self._limit:
                self._kept[trace.trace_id] = made
                self._first.update(dict.fromkeys(trace.trace_ids, trace.trace_id))
                self._bytes += size
            while self._bytes > self._limit:
                self._drop(next(iter(self._kept)))
        return made

    def clear(self) -> None:
        """Keep nothing any longer."""
        with self._lock:
            self._kept.clear()
            self._first.clear()
            self._bytes = 0

    def _drop(self, first: str) -> None:
        found = self._kept.pop(first, None)
        if found is not None:
            self._bytes -= found.size
            for trace_id in found.trace.trace_ids:
                self._first.pop(trace_id, None)
