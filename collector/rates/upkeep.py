"""Background upkeep of rates: facts of judged traces, sums of quiet hours and days, removal of outdated sums."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from tracejury.collector.store.client import Store
from tracejury.collector.worker.outage_log import OutageLog
from tracejury.collector.worker.worker import Task, Worker

from .buckets import DAY, Marks, marks
from .facts import HOUR
from .folding import Folding
from .rolling import Rolling
from .rule_calibrating import RuleCalibrating

SECOND: Final = 1_000_000_000
FOLD_SECONDS: Final = 15.0
"""Seconds between two folds of what was judged."""
AT_ONCE: Final = 100
"""Traces that are folded together. Lists of errors wait meanwhile."""
ROLL_EVERY: Final = 15 * SECOND
CLEAN_EVERY: Final = HOUR
QUIET: Final = 60 * SECOND
"""How long an hour must have been unchanged before it is summed."""
UNUSED: Final = HOUR // 6
"""How long outdated sums are kept: a question may still be reading them."""
REST_SHARE: Final = 1.0
"""Between two steps of folding it rests so many times as long as the last one took: judging needs the interpreter."""
PRESSED_SHARE: Final = 4.0
"""The same under pressure."""
MOST_WAITED: Final = 60 * SECOND
"""Under pressure it does not fold at all for so long."""
HOURS_AT_ONCE: Final = 48
LAST_HOUR: Final = 2**32 - 2 * DAY

_TENANTS: Final = "SELECT DISTINCT tenant FROM rate_buckets WHERE Hours > 0 ORDER BY tenant"

_CLEAN: Final = """
DELETE FROM rate_cells WHERE Generation < {before:UInt64}
AND Generation NOT IN (SELECT max(Rolled) FROM rate_buckets WHERE Hours > 0 GROUP BY tenant, Hours, Bucket)
"""


class RateUpkeep:
    """Background work on rates, and on the confidences that they follow from (`calibrating`).

    It steps back while `pressed`: clients wait for the store. `clock`: unix nanos; `timer`: nanos that pass.
    """

    def __init__(
        self,
        store: Store,
        folding: Folding,
        *,
        calibrating: RuleCalibrating | None = None,
        pressed: Callable[[], bool] = lambda: False,
        clock: Callable[[], int] = time.time_ns,
        timer: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._store, self._folding, self._pressed, self._clock, self._timer = store, folding, pressed, clock, timer
        self._folded = clock()  # when nothing waited last
        self._calibrating = calibrating
        self._next_roll, self._next_clean, self._has_void = 0, 0, True
        outage = OutageLog("error rates", "wait for the store", "are made again", clock)
        self.worker = Worker("rates", Task(self._step), outage, every=FOLD_SECONDS, delay=FOLD_SECONDS, clock=clock)

    def fold(self) -> None:
        """Fold touched traces, a little at a time. Raises RetryableError, StoreError."""
        while not self.worker.stopping.is_set() and not self._steps_back():
            with self._folding.lock:
                began = self._timer()
                if self._folding.step(AT_ONCE) < AT_ONCE:  # what is touched from now on waits for the next time
                    self._folded = self._clock()
                    return
                took = self._timer() - began
            rest = PRESSED_SHARE if self._pressed() else REST_SHARE
            self.worker.stopping.wait(rest * took / SECOND)

    def _steps_back(self) -> bool:
        return self._pressed() and self._clock() < self._folded + MOST_WAITED

    def roll(self) -> None:
        """Sum the hours and days that have become quiet. Raises RetryableError, StoreError."""
        for (tenant,) in self._store.rows(_TENANTS):
            rolling = Rolling(self._store, self._folding, tenant)
            found = marks(self._store, tenant, 0, LAST_HOUR)
            before = self._clock() - QUIET
            hours = [h for h, mark in found.hours.items() if not mark.holds and mark.touched < before]
            rolling.hours(hours[-HOURS_AT_ONCE:])
            self._has_void |= any(found.hours[h].rolled for h in hours)
            found = marks(self._store, tenant, 0, LAST_HOUR)
            days = [day for day in sorted({h - h % DAY for h in found.hours}) if self._is_due(found, day)]
            self._has_void |= any(found.day(day).rolled for day in days)
            rolling.days(days[-HOURS_AT_ONCE:])

    def clean(self) -> None:
        """Drop outdated sums. Raises RetryableError, StoreError."""
        if self._has_void:
            self._store.command(_CLEAN, {"before": self._clock() - UNUSED}, mutated="rate_cells")
            self._has_void = False

    def _is_due(self, found: Marks, day: int) -> bool:
        """Whether a day is over, its hours hold, and its own sums do not."""
        over = (day + DAY) * HOUR <= self._clock()
        return over and not found.day(day).holds and all(found.hours[h].holds for h in found.hours_of(day))

    def _step(self) -> None:
        self.fold()
        now = self._clock()
        if now >= self._next_roll and not self._pressed():
            self._next_roll = now + ROLL_EVERY
            self.roll()
        if now >= self._next_clean and not self._pressed():
            self._next_clean = now + CLEAN_EVERY
            self.clean()
        if self._calibrating is not None and not self._pressed():
            self._calibrating.step()
