"""Log lines about an outage: one when it begins, one when it ends."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

from tracejury.schemas.errors import TracejuryError
from tracejury.schemas.text.terminal import one_line

SECOND: Final = 1_000_000_000
REPEAT_NANOS: Final = 600 * SECOND
"""Least time between two lines about the beginning of an outage: what comes and goes does not fill the log."""
MAX_TEXT: Final = 300

log = logging.getLogger(__name__)


class OutageLog:
    """Counts failures in a row of `subject`, and logs the first one and the recovery. Safe for threads.

    The lines are "SUBJECT FAILS: reason" and "SUBJECT WORKS, after N s". `failures`: in a row, up to now; `since`: when
    the first of them was (unix nanos, as `clock` gives them); `total`: of all outages together.
    """

    def __init__(self, subject: str, fails: str, works: str, clock: Callable[[], int]) -> None:
        self.failures, self.since, self.total = 0, 0, 0
        self._logged_at, self._is_logged = 0, False
        self._subject, self._fails, self._works, self._clock = subject, fails, works, clock
        self._lock = threading.Lock()

    def failed(self, error: Exception | str) -> None:
        """Count a failure; an unexpected exception is logged with its traceback."""
        with self._lock:
            if not self.failures:
                self.since = self._clock()
                self._is_logged = self.since - self._logged_at >= REPEAT_NANOS
                if self._is_logged:
                    self._logged_at = self.since
                    trace = None if isinstance(error, (str, TracejuryError)) else error
                    text = one_line(str(error), MAX_TEXT)
                    log.warning("%s %s: %s", self._subject, self._fails, text, exc_info=trace)
            self.failures += 1
            self.total += 1

    def ended(self) -> None:
        """Note a success; safe to call at any time."""
        if not self.failures:
            return
        with self._lock:
            if self.failures and self._is_logged:
                log.info("%s %s, after %.0f s", self._subject, self._works, (self._clock() - self.since) / SECOND)
            self.failures = 0
