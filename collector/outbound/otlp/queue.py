"""Which traces wait for one backend: ids only, bounded; what does not fit is found in the store again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable


class Queue:
    """Trace ids by the time from which on they may go (unix nanos). Any thread.

    `overflowed` says that some were left to the store since it was last cleared; `wake` is called when news comes.
    """

    def __init__(self, most: int) -> None:
        self.overflowed = False
        self.wake: Callable[[], None] = lambda: None
        self._most = most
        self._waiting: dict[str, int] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, trace_ids: Iterable[str], not_before: int = 0) -> None:
        """Have these go from `not_before` on, or sooner where that was said; a new word on a trace counts at once."""
        with self._lock:
            for trace_id in trace_ids:
                known = self._waiting.get(trace_id)
                if known is None and len(self._waiting) >= self._most:
                    self.overflowed = True
                else:
                    self._waiting[trace_id] = not_before if known is None else min(known, not_before)
        self.wake()

    def take(self, now: int, most: int) -> list[str]:
        """Up to `most` whose time has come, the longest waiting first; they are forgotten here."""
        with self._lock:
            taken: list[str] = []
            for trace_id, not_before in self._waiting.items():
                if len(taken) >= most:
                    break
                if not_before <= now:
                    taken.append(trace_id)
            for trace_id in taken:
                del self._waiting[trace_id]
            return taken

    def next_time(self) -> int | None:
        """When the first of them may go (unix nanos), None where nothing waits."""
        with self._lock:
            return min(self._waiting.values(), default=None)
