"""Rebuilt traces that were shown lately: as many as fit a bound in bytes, and one that is larger.

The least recently used go first.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from cachetools import LRUCache

from tracejury.processors.trace_outline import is_large, outline_of
from tracejury.processors.trace_rows import held_size
from tracejury.schemas.trajectory import Trace

from .trace_index import TraceIndex

MAX_BYTES: Final = 64 * 1024 * 1024
_COPIES: Final = 2
"""The normalised span is about as large as the span itself."""


@dataclass
class RebuiltTrace:
    """A rebuilt trace and the bytes that it counts for."""

    trace: Trace
    size: int

    @cached_property
    def is_large(self) -> bool:
        """Whether it takes long to rebuild it."""
        return is_large(self.trace)

    @cached_property
    def trace_index(self) -> TraceIndex:
        """Its outline as a tree."""
        return TraceIndex(outline_of(self.trace))


class _Traces(LRUCache[str, RebuiltTrace]):
    """Rebuilt traces by first id, bounded by `getsizeof`. `first`: the first id by any other of a trace's ids."""

    def __init__(self, limit: int, getsizeof: Callable[[RebuiltTrace], int] | None = None) -> None:
        super().__init__(limit, getsizeof)
        self.first: dict[str, str] = {}

    def __setitem__(self, first: str, made: RebuiltTrace) -> None:
        super().__setitem__(first, made)
        self.first.update(dict.fromkeys(made.trace.trace_ids, first))

    def __delitem__(self, first: str) -> None:
        for trace_id in self[first].trace.trace_ids:
            self.first.pop(trace_id, None)
        super().__delitem__(first)

    def find(self, trace_id: str) -> RebuiltTrace | None:
        """The trace of that id, or the one that it is part of."""
        return self.get(self.first.get(trace_id, trace_id))

    def drop(self, trace: Trace) -> bool:
        """Drop what is kept of any of its ids; says whether something was."""
        found = [self.pop(self.first.get(trace_id, trace_id), None) for trace_id in trace.trace_ids]
        return any(found)


class RecentTraces:
    """Rebuilt traces by any of their ids. Safe to use from several threads; `limit` in bytes.

    Of traces that are larger than the limit, the one that was asked for last is kept beside the others.
    """

    def __init__(self, limit: int = MAX_BYTES) -> None:
        self._lock = threading.Lock()
        self._small = _Traces(limit, lambda made: made.size)
        self._large = _Traces(1)
        self._asked = ""

    def get(self, trace_id: str) -> RebuiltTrace | None:
        """The trace of that id, or the one that it is part of."""
        with self._lock:
            return self._small.find(trace_id) or self._large.find(trace_id)

    def ask(self, trace_id: str) -> None:
        """Somebody waits for this one: it is kept as soon as it is put, however large it is."""
        with self._lock:
            self._asked = trace_id

    def drop(self, trace_id: str) -> None:
        """Keep nothing of it."""
        with self._lock:
            for kept in (self._small, self._large):
                if (made := kept.find(trace_id)) is not None:
                    kept.drop(made.trace)

    def put(self, trace: Trace) -> RebuiltTrace:
        """Keep a trace in place of what was kept of any of its ids; beyond the limit only where it was asked for."""
        made = RebuiltTrace(trace, _COPIES * sum(held_size(span.raw) for span in trace.spans.values()))
        with self._lock:
            self._small.drop(trace)
            was_large = self._large.drop(trace)
            if made.size <= self._small.maxsize:
                self._small[trace.trace_id] = made
            elif was_large or self._asked in trace.trace_ids:
                self._large[trace.trace_id] = made
        return made
