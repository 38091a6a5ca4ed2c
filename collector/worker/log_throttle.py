"""A limit on log lines that anyone who sends requests could provoke."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

_INTERVAL: Final = 60 * 10**9  # nanoseconds


class LogThrottle:
    """Allows one line of each kind a minute. `clock` gives nanoseconds; kinds are a small, fixed set of words."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._last: dict[str, int] = {}

    def due(self, kind: str) -> bool:
        """True at the first call for a kind, then at most once a minute."""
        now = self._clock()
        if kind in self._last and now - self._last[kind] < _INTERVAL:
            return False
        self._last[kind] = now
        return True
