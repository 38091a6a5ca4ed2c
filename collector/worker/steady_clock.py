"""A clock that never goes back, for times of arrival and for what becomes due.

With the system's clock, a correction by an hour would hold back everything that waits for an hour.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

log = logging.getLogger(__name__)

TOLD: Final = 1_000_000_000
"""Steps back from this size on are logged, nanos."""


class SteadyClock:
    """Unix nanos. After the system's clock was set back, time goes on at half its pace until that has caught up.

    `wall`: unix nanos; `elapsed`: nanos of a clock that nobody sets. Safe from any thread.
    """

    def __init__(self, wall: Callable[[], int] = time.time_ns, elapsed: Callable[[], int] = time.monotonic_ns) -> None:
        self._wall, self._elapsed = wall, elapsed
        self._lock = threading.Lock()
        self._last, self._ticks = wall(), elapsed()
        self._is_ahead = False

    def __call__(self) -> int:
        """The time; never less than before."""
        with self._lock:
            wall, ticks = self._wall(), self._elapsed()
            ahead = self._last - wall
            self._last, self._ticks = max(wall, self._last + (ticks - self._ticks) // 2), ticks
            is_new, self._is_ahead = not self._is_ahead and ahead >= TOLD, self._last > wall
        if is_new:
            log.warning("the system's clock was set back by %d s: arrival times follow slowly", ahead // TOLD)
        return self._last
