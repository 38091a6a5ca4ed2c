"""Failures in a row of one thing: told at the first and at the end, unless it comes and goes, and counted."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

SECOND: Final = 1_000_000_000
TOLD: Final = 600 * SECOND
"""Within this time after it was told it is not told again."""

log = logging.getLogger(__name__)


class Streak:
    """`fails` and `works` are what the log says of `name`, at the first failure and after the last.

    `failures`: in a row, up to now; `since`: when the first of them was (unix nanos, as `clock` gives them).
    """

    def __init__(self, name: str, fails: str, works: str, clock: Callable[[], int]) -> None:
        self.failures, self.since = 0, 0
        self._told_at, self._tells = 0, False
        self._name, self._fails, self._works, self._clock = name, fails, works, clock

    def failed(self, why: str, error: BaseException | None = None) -> None:
        """One more; `error`: whose traceback is told, for what nobody expected."""
        if not self.failures:
            self.since = self._clock()
            self._tells = self.since - self._told_at >= TOLD
            if self._tells:
                self._told_at = self.since
                log.warning("backend %s %s: %s", self._name, self._fails, why, exc_info=error)
        self.failures += 1

    def ended(self) -> None:
        """It works; safe to call at any time."""
        if self.failures and self._tells:
            log.info("backend %s %s, after %.0f s", self._name, self._works, (self._clock() - self.since) / SECOND)
        self.failures = 0
