"""Traces rebuilt lately, as many as fit a bound in bytes, the least recently used out first; and one that is larger."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from ....processors.assemble import span_size
from ....processors.trace_outline import outline_of
from ....schemas.trajectory import Trace
from .trace_index import Places

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
    """Rebuilt traces by any of their ids. Safe to use from several threads; `limit` in bytes.

    Of traces that are larger than the limit, the one that was asked for last is kept beside the others.
    """

    def __init__(self, limit: int = MAX_BYTES) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, Rebuilt] = OrderedDict()
        self._large: Rebuilt | None = None
        self._first: dict[str, str] = {}
        self._bytes = 0
        self._asked = ""

    def get(self, trace_id: str) -> Rebuilt | None:
        """The trace of that id, or the one that it is part of."""
        with self._lock:
            first = self._first.get(trace_id, trace_id)
            found = self._kept.get(first)
            if found is not None:
                self._kept.move_to_end(first)
                return found
            large = self._large
            return large if large is not None and large.trace.trace_id == first else None

    def ask(self, trace_id: str) -> None:
        """Somebody waits for this one: it is kept as soon as it is put, however large it is."""
        with self._lock:
            self._asked = trace_id

    def put(self, trace: Trace) -> Rebuilt:
        """Keep a trace in place of what was kept of any of its ids; beyond the limit only where it was asked for."""
        size = _COPIES * sum(span_size(span.raw) for span in trace.spans.values())
        made = Rebuilt(trace, size)
        with self._lock:
            had_large = self._large
            for trace_id in trace.trace_ids:
                self._drop(self._first.get(trace_id, trace_id))
            if size <= self._limit:
                self._kept[trace.trace_id] = made
                self._bytes += size
            elif self._asked in trace.trace_ids or had_large is not self._large:
                self._drop_large()
                self._large = made
            else:
                return made
            self._first.update(dict.fromkeys(trace.trace_ids, trace.trace_id))
            while self._bytes > self._limit:
                self._drop(next(iter(self._kept)))
        return made

    def clear(self) -> None:
        """Keep nothing any longer."""
        with self._lock:
            self._kept.clear()
            self._first.clear()
            self._large = None
            self._bytes = 0

    def _drop(self, first: str) -> None:
        found = self._kept.pop(first, None)
        if found is not None:
            self._bytes -= found.size
            self._forget(found.trace)
        elif self._large is not None and self._large.trace.trace_id == first:
            self._drop_large()

    def _drop_large(self) -> None:
        if self._large is not None:
            self._forget(self._large.trace)
            self._large = None

    def _forget(self, trace: Trace) -> None:
        for trace_id in trace.trace_ids:
            self._first.pop(trace_id, None)
