"""A bounded queue that holds each key once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from .wake_event import WakeEvent

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(slots=True)
class Item(Generic[K, V]):
    """A queued value, due from `not_before` on (unix nanos).

    `tries`: counted by whoever takes it. `dropped`: it was dropped in flight, so nothing that comes of it counts.
    """

    key: K
    value: V
    not_before: int = 0
    tries: int = 0
    weight: int = 0
    dropped: bool = False


class KeyedQueue(Generic[K, V]):
    """Items in the order in which their keys came. Safe for threads.

    Holds at most `max_entries` and, where `weigh` is given, takes nothing more once they weigh `max_weight`; what is in
    flight counts, and has a place to wait again. `overflowed`: something was refused since the flag was last cleared,
    so the store must be swept.
    `wake` is woken whenever something may have become due.
    """

    def __init__(
        self,
        max_entries: int,
        *,
        max_weight: int = 0,
        weigh: Callable[[V], int] | None = None,
        wake: WakeEvent | None = None,
    ) -> None:
        self.overflowed = False
        self.weight = 0
        self._max_entries, self._max_weight, self._weigh, self._wake = max_entries, max_weight, weigh, wake
        self._waiting: dict[K, Item[K, V]] = {}
        self._in_flight: dict[K, Item[K, V]] = {}
        self._closed = False
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, key: object) -> bool:
        with self._lock:  # an item is between the two for a moment
            return key in self._waiting or key in self._in_flight

    @property
    def in_flight(self) -> int:
        """Number of items that were taken and are neither done nor put back."""
        return len(self._in_flight)

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits and nothing is in flight, at one moment: an item may go from either to the other."""
        with self._lock:
            return not self._waiting and not self._in_flight

    def put(self, key: K, value: V, not_before: int = 0) -> bool:
        """Add an item, or renew the one that waits under its key; False where there is no room.

        A renewed item keeps its place, and is due at the earlier of the two times.
        """
        with self._lock:
            fits = self._put(key, value, not_before)
        self._woken()
        return fits

    def put_keys(self: KeyedQueue[K, None], keys: Iterable[K], not_before: int = 0) -> None:
        """Add items that are keys alone; those for which there is no room set `overflowed`."""
        with self._lock:
            for key in keys:
                self._put(key, None, not_before)
        self._woken()

    def _put(self, key: K, value: V, not_before: int) -> bool:
        if self._closed:
            return False
        old = self._waiting.get(key)
        is_full = key not in self._in_flight and len(self._waiting) + len(self._in_flight) >= self._max_entries
        if old is None and (is_full or (self._weigh is not None and self.weight >= self._max_weight)):
            self.overflowed = True
            return False
        weight = self._weigh(value) if self._weigh is not None else 0
        self.weight += weight - (old.weight if old else 0)
        due = min(old.not_before, not_before) if old else not_before
        self._waiting[key] = Item(key, value, due, weight=weight)
        return True

    def take(
        self, now: int, limit: int | None = None, only: Callable[[Item[K, V]], bool] | None = None
    ) -> list[Item[K, V]]:
        """Up to `limit` items that are due and of whose key none is in flight; each is to be done or put back.

        `only`: whether an item is wanted.
        """
        with self._lock:
            return self._take(now, limit, only)

    def _take(self, now: int, limit: int | None, only: Callable[[Item[K, V]], bool] | None = None) -> list[Item[K, V]]:
        taken: list[Item[K, V]] = []
        for item in self._waiting.values():
            if limit is not None and len(taken) >= limit:
                break
            is_due = item.not_before <= now and item.key not in self._in_flight
            if is_due and (only is None or only(item)):
                taken.append(item)
        for item in taken:
            self._in_flight[item.key] = self._waiting.pop(item.key)
        return taken

    def put_back(self, items: Iterable[Item[K, V]], not_before: int = 0) -> None:
        """Have items that were taken wait again; where a newer one waits under a key, that one stays instead."""
        with self._lock:
            for item in items:
                if self._in_flight.get(item.key) is not item:
                    continue  # the queue was closed meanwhile
                del self._in_flight[item.key]
                if item.dropped or item.key in self._waiting:
                    self.weight -= item.weight
                else:  # another object: a late `done` of this one does not end what is taken next
                    self._waiting[item.key] = replace(item, not_before=not_before)
        self._woken()

    def done(self, items: Iterable[Item[K, V]]) -> None:
        """Forget items that were taken; those that were put back stay."""
        with self._lock:
            for item in items:
                if self._in_flight.get(item.key) is item:
                    del self._in_flight[item.key]
                    self.weight -= item.weight
        self._woken()

    def drop(self, is_gone: Callable[[Item[K, V]], bool]) -> list[Item[K, V]]:
        """Take out what waits and is gone; what is in flight is marked, and does not wait again."""
        with self._lock:
            gone = [item for item in self._waiting.values() if is_gone(item)]
            for item in gone:
                self.weight -= self._waiting.pop(item.key).weight
            for item in filter(is_gone, self._in_flight.values()):
                item.dropped = True
        return gone

    def close(self) -> None:
        """Forget everything, and take nothing more."""
        with self._lock:
            self._closed, self.weight = True, 0
            self._waiting.clear()
            self._in_flight.clear()

    def next_due(self) -> int | None:
        """When the first item is due of whose key none is in flight (unix nanos); None where there is none."""
        with self._lock:
            times: Collection[int] = [i.not_before for i in self._waiting.values() if i.key not in self._in_flight]
            return min(times, default=None)

    def values(self) -> list[V]:
        """The waiting values, in order."""
        with self._lock:
            return [item.value for item in self._waiting.values()]

    def _woken(self) -> None:
        if self._wake is not None:
            self._wake.wake()
