"""Background work on errors: deriving those of an earlier version, and calibrating the confidences of rules."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final

from tracejury.collector.store.derived.rederiving import rederive
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.worker.outage_log import OutageLog
from tracejury.collector.worker.worker import Task, Worker

from .rule_calibrating import RuleCalibrating

SECOND: Final = 1_000_000_000
EVERY: Final = 15.0
"""Seconds between two looks."""
REST_SHARE: Final = 1.0
"""Between two pages of traces it rests so many times as long as the last one took: judging waits for the same lock."""


class ErrorUpkeep:
    """Steps back while `pressed`: clients wait for the store. `clock`: unix nanos; `timer`: nanos that pass."""

    def __init__(
        self,
        store: SharedStore,
        calibrating: RuleCalibrating,
        *,
        pressed: Callable[[], bool] = lambda: False,
        clock: Callable[[], int] = time.time_ns,
        timer: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._store, self._calibrating, self._pressed, self._clock, self._timer = (
            store, calibrating, pressed, clock, timer,
        )  # fmt: skip
        self._is_derived = False
        outage = OutageLog("errors of earlier traces", "wait for the store", "are derived again", clock)
        self.worker = Worker("errors", Task(self._step), outage, every=EVERY, delay=1.0, clock=clock)

    def _step(self) -> None:
        if not self._is_derived:
            self._is_derived = self._derive(rederive(self._store, self._clock))
        if not self._pressed():
            self._calibrating.step()

    def _derive(self, pages: Iterator[int]) -> bool:
        """Whether all are derived: it stops early where the collector stops, or clients wait."""
        began = self._timer()
        for _ in pages:
            self.worker.stopping.wait(REST_SHARE * (self._timer() - began) / SECOND)
            if self.worker.stopping.is_set() or self._pressed():
                return False
            began = self._timer()
        return True
