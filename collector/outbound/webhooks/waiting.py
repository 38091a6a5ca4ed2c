"""What waits to be looked at, and what waits to be sent: both bounded."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from ....schemas.queries.webhook_events import Event, Message

HINTS: Final = 10_000
"""Traces noted as changed; beyond it the store is swept instead."""


class Hints:
    """Traces that changed, told from any thread. `wake` is called after each."""

    def __init__(self, wake: Callable[[], None], most: int = HINTS) -> None:
        self.overflown = True  # what an earlier process left must be looked for first
        self._wake, self._most = wake, most
        self._lock = threading.Lock()
        self._traces: dict[str, None] = {}

    def __len__(self) -> int:
        return len(self._traces)

    def put(self, trace_ids: Iterable[str]) -> None:
        """Note traces; those for which there is no room are found by the next sweep."""
        with self._lock:
            for trace_id in trace_ids:
                if len(self._traces) >= self._most and trace_id not in self._traces:
                    self.overflown = True
                    break
                self._traces[trace_id] = None
        self._wake()

    def take(self, most: int) -> list[str]:
        """Up to `most` traces, the earliest noted first."""
        with self._lock:
            taken = list(self._traces)[:most]
            for trace_id in taken:
                del self._traces[trace_id]
        return taken


@dataclass(order=True, slots=True)
class Waiting:
    """A message and when it is due, in seconds of the loop's clock."""

    due: float
    number: int
    message: Message = field(compare=False)
    attempts: int = field(default=0, compare=False)


class Queue:
    """Messages by when they are due; a message stays known until `done`, also while it is being sent."""

    def __init__(self) -> None:
        self._closed = False
        self._heap: list[Waiting] = []
        self._known: dict[tuple[str, Event], Waiting] = {}
        self._numbers = count()

    def __len__(self) -> int:
        return len(self._known)

    def knows(self, key: tuple[str, Event]) -> bool:
        """Whether such a message waits or is being sent."""
        return key in self._known

    def put(self, message: Message, due: float) -> None:
        """Take a new message; one that is known already is left out."""
        if message.key not in self._known and not self._closed:
            waiting = self._known[message.key] = Waiting(due, next(self._numbers), message)
            heapq.heappush(self._heap, waiting)

    def again(self, waiting: Waiting, due: float) -> None:
        """Put back one that was taken."""
        if not self._closed:
            waiting.due = due
            heapq.heappush(self._heap, waiting)

    @property
    def next_due(self) -> float | None:
        """When the next one is due; None where nothing waits."""
        return self._heap[0].due if self._heap else None

    def take(self) -> Waiting:
        """The next one; it must be put back or be done."""
        return heapq.heappop(self._heap)

    def oldest(self) -> int | None:
        """When the age of the oldest one that waits began, unix nanos; None where nothing waits."""
        return min((waiting.message.since for waiting in self._heap), default=None)

    def take_old(self, since: int) -> list[Waiting]:
        """Those that wait and whose age began then or earlier; they must be done."""
        return self._part(lambda message: message.since <= since)

    def forget(self, trace_ids: Collection[str]) -> None:
        """Forget what waits of these traces; what is being sent is still to be put back or to be done."""
        for waiting in self._part(lambda message: message.trace_id in trace_ids):
            self.done(waiting.message.key)

    def _part(self, leaves: Callable[[Message], bool]) -> list[Waiting]:
        parted = [waiting for waiting in self._heap if leaves(waiting.message)]
        self._heap = [waiting for waiting in self._heap if not leaves(waiting.message)]
        heapq.heapify(self._heap)
        return parted

    def done(self, key: tuple[str, Event]) -> None:
        """Forget one that was taken."""
        self._known.pop(key, None)

    def close(self) -> None:
        """Forget all, and take nothing more."""
        self._closed = True
        self._heap.clear()
        self._known.clear()
