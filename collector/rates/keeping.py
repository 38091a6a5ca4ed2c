"""In the background: facts of what was judged, sums of what has become quiet, and no sums that hold no longer."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from ...schemas.errors import RetryableError
from ..store.client import Store
from .buckets import DAY, Marks, marks
from .facts import HOUR
from .folding import Folding
from .rolling import Rolling

log = logging.getLogger(__name__)

SECOND: Final = 1_000_000_000
FOLD_SECONDS: Final = 5.0
"""Between two looks for what was judged."""
ROLL_EVERY: Final = 15 * SECOND
CLEAN_EVERY: Final = HOUR
QUIET: Final = 60 * SECOND
"""How long nothing of an hour must have changed before it is summed."""
UNUSED: Final = HOUR // 6
"""How long sums are kept that hold no longer: a question may still be reading them."""
REST_SECONDS: Final = 0.1
HOURS_AT_ONCE: Final = 48
LAST_HOUR: Final = 2**32 - 2 * DAY

_TENANTS: Final = "SELECT DISTINCT tenant FROM rate_buckets WHERE Hours > 0 ORDER BY tenant"

_CLEAN: Final = """
DELETE FROM rate_cells WHERE Generation < {before:UInt64}
AND Generation NOT IN (SELECT max(Rolled) FROM rate_buckets WHERE Hours > 0 GROUP BY tenant, Hours, Bucket)
"""


class Keeping:
    """A thread of its own. It steps back while `pressed` says that clients wait for the store. `clock`: unix nanos."""

    def __init__(
        self,
        store: Store,
        folding: Folding,
        *,
        pressed: Callable[[], bool] = lambda: False,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._store, self._folding, self._pressed, self._clock = store, folding, pressed, clock
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._next_roll, self._next_clean, self._void = 0, 0, True

    def start(self) -> None:
        """Start the thread."""
        self._thread = threading.Thread(target=self._run, name="rates", daemon=True)
        self._thread.start()

    def stop(self, deadline: float) -> None:
        """End within `deadline` seconds; what is left is done at the next start, or by the next question."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(deadline)

    def fold(self) -> None:
        """Fold what is touched, a little at a time. Raises RetryableError, StoreError."""
        while not self._stopping.is_set() and not self._pressed():
            with self._folding.lock:
                if not self._folding.step():
                    return
            self._stopping.wait(REST_SECONDS)

    def roll(self) -> None:
        """Sum what has become quiet. Raises RetryableError, StoreError."""
        for (tenant,) in self._store.rows(_TENANTS):
            rolling = Rolling(self._store, self._folding, tenant)
            found = marks(self._store, tenant, 0, LAST_HOUR)
            before = self._clock() - QUIET
            hours = [h for h, mark in found.hours.items() if not mark.holds and mark.touched < before]
            rolling.hours(hours[-HOURS_AT_ONCE:])
            self._void |= any(found.hours[h].rolled for h in hours)
            found = marks(self._store, tenant, 0, LAST_HOUR)
            days = [day for day in sorted({h - h % DAY for h in found.hours}) if self._due(found, day)]
            self._void |= any(found.day(day).rolled for day in days)
            rolling.days(days[-HOURS_AT_ONCE:])

    def clean(self) -> None:
        """Drop sums that hold no longer. Raises RetryableError, StoreError."""
        if self._void:
            self._store.command(_CLEAN, {"before": self._clock() - UNUSED})
            self._void = False

    def _due(self, found: Marks, day: int) -> bool:
        """Whether a day is over, its hours hold, and its own sums do not."""
        over = (day + DAY) * HOUR <= self._clock()
        return over and not found.day(day).holds and all(found.hours[h].holds for h in found.hours_of(day))

    def _run(self) -> None:
        while not self._stopping.wait(FOLD_SECONDS):
            try:
                self._step()
            except RetryableError as error:
                log.warning("error rates wait for the store: %s", error)
                self._stopping.wait(error.retry_after)
            except Exception:  # the thread must live: a question folds for itself
                log.exception("error rates could not be made; they are tried again")

    def _step(self) -> None:
        self.fold()
        now = self._clock()
        if now >= self._next_roll and not self._pressed():
            self._next_roll = now + ROLL_EVERY
            self.roll()
        if now >= self._next_clean and not self._pressed():
            self._next_clean = now + CLEAN_EVERY
            self.clean()
