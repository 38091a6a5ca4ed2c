"""Log lines that anyone who sends could provoke: one a kind in a while."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

_PAUSE: Final = 60 * 10**9  # nanoseconds


class Seldom:
    """Says whether a line of a kind is due; `clock` in nanos. Kinds are a small set of our own words."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._last: dict[str, int] = {}

    def due(self, kind: str) -> bool:
        """True at the first call for a kind, then at most once a minute."""
        now = self._clock()
        if kind in self._last and now - self._last[kind] < _PAUSE:
            return False
        self._last[kind] = now
        return True
