"""Deletion of what is kept no longer, where the engine does not do it by itself."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

from tracejury.collector.worker.outage_log import OutageLog
from tracejury.collector.worker.worker import Task, Worker

from .cluster import of_all
from .dead_letter import DeadLetterFolder
from .deletion import Deletion
from .retention import DAY, Retention, expire_dead_letters, expired
from .shared_store import SharedStore

log = logging.getLogger(__name__)

DELAY_SECONDS: Final = 300.0
"""Between the start and the first sweep."""

# What rates are made of is replaced by an empty row; the former one, with the name of its session, stays until a merge.
_REPLACED: Final = """
SELECT (tenant, Unit, Hour, TraceId, RunId) AS Key FROM run_facts GROUP BY Key
HAVING argMax(Removed, FoldedAt) = 1 AND min(Removed) = 0 LIMIT {limit:UInt64}
"""
_FORMER: Final = """
DELETE FROM run_facts WHERE NOT Removed
AND (tenant, Unit, Hour, TraceId, RunId) IN {keys:Array(Tuple(String, String, UInt32, String, String))}
"""
_PAGE: Final = 1000
# Rows that were deleted are masked, and stay on disk until their part is merged, which may be never.
_MASKED: Final = """
SELECT DISTINCT table, partition_id FROM {parts}
WHERE database = currentDatabase() AND active AND has_lightweight_delete ORDER BY table, partition_id
"""


class RetentionSweep:
    """Run by `worker` a while after the start, then every day. `clock`: unix nanos."""

    def __init__(
        self,
        store: SharedStore,
        deletion_of: Callable[[str], Deletion],
        dead_letters: DeadLetterFolder,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._store, self._deletion_of, self._dead_letters, self._clock = store, deletion_of, dead_letters, clock
        self._retention = Retention(store.config)
        outage = OutageLog("the retention sweep", "fails", "works again", clock)
        self.worker = Worker("retention", Task(self.run), outage, every=DAY, delay=DELAY_SECONDS, clock=clock)

    def run(self) -> int:
        """Delete what is kept no longer; returns the number of traces. What was deleted leaves the disk.

        Raises RetryableError, StoreError, OSError; it is safe to repeat.
        """
        now, traces = self._clock(), 0
        self._store.tombstones.expire(now)
        for found in expired(self._store, self._retention, now):
            count = self._deletion_of(found.project).expire(found.service, found.before)
            if count:
                log.info("%d traces of service %r were kept for long enough and are deleted", count, found.service)
            traces += count
        expire_dead_letters(self._dead_letters, self._retention, now)
        while keys := [key for (key,) in self._store.rows(_REPLACED, {"limit": _PAGE})]:
            self._store.command(_FORMER, {"keys": keys}, mutated="run_facts")
        for table, partition in self._store.rows(_MASKED.format(parts=self._store.every("system.parts"))):
            applied = f"ALTER TABLE `{of_all(table)}` APPLY DELETED MASK IN PARTITION ID '{partition}'"
            self._store.command(applied, mutated=table)
        return traces
