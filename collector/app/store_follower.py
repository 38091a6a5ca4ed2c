"""Follows what other processes store on the same server: tells listeners, and has judged what falls to this process."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tracejury.collector.store.changes import START, NewChanges, StoredChanges
from tracejury.collector.store.server_time import ServerTime
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.worker.listeners import JudgedByOthers, Listeners
from tracejury.collector.worker.outage_log import OutageLog
from tracejury.collector.worker.retry import RetryPolicy
from tracejury.collector.worker.worker import Task, Worker

if TYPE_CHECKING:  # a process imports the parts that its role has
    from tracejury.collector.judging.detect.takeover import Takeover
    from tracejury.collector.judging.detect.worker import DetectWorker

EVERY: Final = 1.0
"""Seconds between two readings."""
RETRY: Final = RetryPolicy(first=1.0, longest=10.0)
LATE: Final = 30.0
"""Seconds without a reading after which the process says so."""
REFRESH_EVERY: Final = 15.0
"""Seconds after which small tables are read again of which this process keeps a copy."""


class StoreFollower:
    """A worker over a server. `reads`: judgements of others, and their rows where this process judges (`judging`).

    `refresh` reads again what this process keeps of small tables. `clock`: unix nanos; `timer`: seconds that pass.
    """

    def __init__(
        self,
        store: SharedStore,
        listeners: Listeners,
        server_time: ServerTime,
        clock: Callable[[], int],
        *,
        reads: bool = True,
        judging: tuple[DetectWorker, Takeover] | None = None,
        refresh: Callable[[], object] = lambda: None,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store, self._listeners, self._server_time = store, listeners, server_time
        self._clock, self._reads, self._judging, self._refresh, self._timer = clock, reads, judging, refresh, timer
        self._changes: StoredChanges | None = None
        self._read_at = self._refreshed_at = timer()
        outage = OutageLog("what other processes store", "waits for the store", "is followed again", clock)
        self.worker = Worker("follower", Task(self.step), outage, retry=RETRY, every=EVERY, clock=clock)

    @property
    def lag(self) -> float:
        """Seconds since the store was last read."""
        return self._timer() - self._read_at

    def problem(self) -> str:
        """That what other processes store is not known; "" where it is."""
        seconds = self.lag
        return f"what other processes store was last read {seconds:.0f} s ago" if seconds > LATE else ""

    def step(self) -> None:
        """Read what is new. Raises RetryableError, StoreError: nothing of it is lost."""
        now = self._server_time.align()
        if self._reads:
            self._follow(now)
        if self._timer() - self._refreshed_at >= REFRESH_EVERY:
            self._refresh()
            self._refreshed_at = self._timer()
        self._read_at = self._timer()

    def _follow(self, now: int) -> None:
        self._changes = self._changes or StoredChanges(self._store, now - START, reads_rows=self._judging is not None)
        changes = self._changes.read(now)
        if self._judging:
            self._judge(changes, *self._judging)
        if changes.judged:
            self._listeners.judged_by_others(
                [JudgedByOthers(one.key, one.has_findings, one.is_final) for one in changes.judged]
            )

    def _judge(self, changes: NewChanges, worker: DetectWorker, takeover: Takeover) -> None:
        now = self._clock()
        if keys := takeover.note(changes, now):
            self._store.pending.arrived(keys, now)
            worker.take_up(keys)
        if left := takeover.left(now):
            worker.take_up(left, left=True)
            takeover.forget(left)
