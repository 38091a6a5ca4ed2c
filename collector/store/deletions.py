"""Traces that are being deleted, and the inserts that a deletion waits for."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Final

from tracejury.processors.assemble import TraceKey

MOST: Final = 200_000
"""Deletions that are remembered: what was in hand when a trace was deleted is stored, or given up, long before."""


class Deletions:
    """Guards deletions against what is being written meanwhile; safe from any thread.

    Whoever stores something of a trace does so within `writing`, and asks `stays` there. `Deletion` holds traces before
    it deletes them, and lets go of them after it. Of this process alone: for others see `deleted_elsewhere`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._written = threading.Condition(self._lock)
        self._writing: set[object] = set()
        self._held: set[TraceKey] = set()
        self._deleted: dict[TraceKey, int] = {}

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Around writing something of traces. Ask `stays` within."""
        token = object()
        with self._lock:
            self._writing.add(token)
        try:
            yield
        finally:
            with self._lock:
                self._writing.discard(token)
                self._written.notify_all()

    def stays(self, key: TraceKey, received_through: int) -> bool:
        """Whether what was said of a trace as it was then (unix nanos) may be stored: it is not deleted since."""
        with self._lock:
            return key not in self._held and received_through > self._deleted.get(key, -1)

    def under_way(self) -> set[TraceKey]:
        """The traces that are held."""
        with self._lock:
            return set(self._held)

    def hold(self, keys: Collection[TraceKey], through: int) -> None:
        """Before these are deleted as far as they arrived (unix nanos): what is being written of them is waited for.

        Until they are let go nothing is written of them; nothing is ever again of what they were then.
        """
        with self._lock:
            self._held.update(keys)
            self._deleted.update(dict.fromkeys(keys, through))
            for key in list(self._deleted)[: max(len(self._deleted) - MOST, 0)]:
                del self._deleted[key]
            before = set(self._writing)
            self._written.wait_for(lambda: not before & self._writing)

    def let_go(self, keys: Collection[TraceKey]) -> None:
        """They are deleted: what arrives from now on begins them anew."""
        with self._lock:
            self._held.difference_update(keys)
