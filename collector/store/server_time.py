"""The time of a ClickHouse server, which the processes on it share: theirs may be minutes apart."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from .client import Store

_NOW: Final = "SELECT toUnixTimestamp64Nano(now64(9))"


class ServerTime:
    """Unix nanos. `elapsed`: nanos of a clock that goes on meanwhile. Safe from any thread.

    Making it, and `align`, raise RetryableError, StoreError: the store failed.
    """

    def __init__(self, store: Store, elapsed: Callable[[], int] = time.monotonic_ns) -> None:
        self._store, self._elapsed = store, elapsed
        self._ahead = 0
        self.align()

    def __call__(self) -> int:
        """The time, as of the last alignment."""
        return self._elapsed() + self._ahead

    def align(self) -> int:
        """Ask the server; returns its time. What may be due to the way of the answer alone changes nothing."""
        before = self._elapsed()
        now = int(self._store.rows(_NOW)[0][0])
        after = self._elapsed()
        ahead = now - (before + after) // 2
        if abs(ahead - self._ahead) > after - before:
            self._ahead = ahead
        return now
