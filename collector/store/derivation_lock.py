"""The lock under which a process derives errors and facts, one caller at a time, and the versions of their rows."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import Any, Final, Self

from cachetools import LRUCache

from tracejury.processors.assemble import TraceKey

from .client import Store

MOST: Final = 10_000
"""Traces of which is known what was derived last."""

_LAST: Final = "SELECT greatest((SELECT max(FoldedAt) FROM errors), (SELECT max(FoldedAt) FROM run_facts))"
_NOW: Final = "SELECT toUnixTimestamp64Nano(now64(9))"


class DerivationLock:
    """Held from before a trace is derived until the judgements that were derived with it are stored.

    Detectors and LLM judges store what they say of one trace from two threads: whoever derives last has read what both
    have stored. Other processes on the same server are not locked out: see `derive_until_stable`.
    """

    def __init__(self) -> None:
        self.alone: LRUCache[TraceKey, Any] = LRUCache(MOST)
        """What was derived last of traces of which nobody but the detectors has said anything; of an embedded store."""
        self._lock = threading.Lock()
        self._last = 0

    def __enter__(self) -> Self:
        self._lock.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def forget(self, keys: Iterable[TraceKey]) -> None:
        """These are deleted."""
        with self._lock:
            for key in keys:
                self.alone.pop(key, None)

    def began(self, store: Store) -> int:
        """The server's time (unix nanos), before anything is read: clocks of processes differ. 0 of an embedded one."""
        return 0 if store.embedded else int(store.rows(_NOW)[0][0])

    def stamp(self, store: Store, least: int) -> int:
        """The version of the rows of one derivation, higher than all before it; about unix nanos. The lock is held.

        `least`: on a server, when the derivation began, or one more than the highest version that it has read.
        """
        if store.embedded:
            self._last = max(self._last + 1, time.time_ns()) if self._last else self._first(store)
        else:
            self._last = max(self._last + 1, least)
        return self._last

    def _first(self, store: Store) -> int:
        return max(int(store.rows(_LAST)[0][0]) + 1, time.time_ns())
