"""Traces that this process has written about, and whose errors and rates were not computed again yet."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from tracejury.processors.assemble import TraceKey

MOST: Final = 200_000
"""Traces that are remembered; beyond it the store itself must be asked what has changed."""


class Changes:
    """Touched traces; safe from any thread. After a restart they are found again by the times in the store."""

    def __init__(self) -> None:
        self.making = threading.Lock()
        """Held by whoever makes facts of touched traces, so that one does at a time."""
        self._touched: dict[TraceKey, None] = {}
        self._newly: dict[TraceKey, None] = {}  # those of them that `take_new` has not given
        self._in_hand: set[TraceKey] = set()  # those that were new when they were taken
        self._lost = True
        self._lock = threading.RLock()
        self._written = threading.Condition(self._lock)
        self._writing: set[object] = set()
        self._held: set[TraceKey] = set()
        self._deleted: dict[TraceKey, int] = {}

    def __len__(self) -> int:
        return len(self._touched)

    def touch(self, keys: Iterable[TraceKey]) -> None:
        """Mark traces about which something was, or may have been, written."""
        with self._lock:
            new = dict.fromkeys(keys)
            self._touched.update(new)
            self._newly.update(new)
            if len(self._touched) > MOST:
                self._touched.clear()
                self._newly.clear()
                self._lost = True

    @contextmanager
    def touching(self, keys: Iterable[TraceKey]) -> Iterator[None]:
        """Around writing something about these: touched whatever comes of it. Ask `stays` within."""
        with self.writing():
            try:
                yield
            finally:
                self.touch(keys)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Around writing what no rate is made of. Ask `stays` within."""
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

    def deleting(self) -> set[str]:
        """The ids of the traces that are held."""
        with self._lock:
            return {trace_id for _, trace_id in self._held}

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
        self.touch(keys)

    def take(self, most: int) -> Collection[TraceKey]:
        """Up to `most` of them, the longest touched first; whoever cannot finish gives them back to `touch`."""
        with self._lock:
            taken = [key for key, _ in zip(self._touched, range(most), strict=False)]
            for key in taken:
                del self._touched[key]
            self._hand_out(taken)
            return taken

    def take_new(self, most: int) -> Collection[TraceKey]:
        """The same of those touched since they were last taken so; they stay until `take` gives them."""
        with self._lock:
            taken = [key for key, _ in zip(self._newly, range(most), strict=False)]
            self._hand_out(taken)
            return taken

    def take_these(self, keys: Collection[TraceKey]) -> None:
        """The same of these alone."""
        with self._lock:
            self._hand_out(keys)

    def _hand_out(self, keys: Collection[TraceKey]) -> None:
        for key in keys:
            if key in self._newly:
                del self._newly[key]
                self._in_hand.add(key)

    def made(self, keys: Collection[TraceKey]) -> None:
        """The facts of these, which were taken, are stored, or they are touched again."""
        with self._lock:
            self._in_hand.difference_update(keys)

    def new_of(self, keys: Collection[TraceKey]) -> set[TraceKey]:
        """Those of these that `take_new` would give, or that were taken while they were new and are not made yet."""
        with self._lock:
            return {key for key in keys if key in self._newly or key in self._in_hand}

    @property
    def is_lost(self) -> bool:
        """Whether there may be others than those remembered."""
        return self._lost

    def lost(self) -> bool:
        """Whether there may be others than those remembered, as at the start; from now on there are not."""
        with self._lock:
            lost, self._lost = self._lost, False
            return lost

    def lose(self) -> None:
        """There may be others: looking for them has failed."""
        with self._lock:
            self._lost = True
