"""The task that runs the retention sweep: a while after the start, then every day."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final

from ..store.retention_sweep import RetentionSweep
from ..worker.outage_log import OutageLog

log = logging.getLogger(__name__)

FIRST_SECONDS: Final = 300.0
DAY_SECONDS: Final = 86_400.0
AGAIN_SECONDS: Final = 600.0
"""The pause after a sweep that failed."""


class RetentionWatch:
    """Runs `sweep` in a thread. `clock`: unix nanos."""

    def __init__(self, sweep: RetentionSweep, clock: Callable[[], int] = time.time_ns) -> None:
        self._sweep = sweep
        self._outage = OutageLog("the retention sweep", "fails", "works again", clock)
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Go on in the background."""
        self._task = asyncio.create_task(self._run(), name="tracejury-retention")

    async def stop(self, deadline: float) -> None:
        """End. Safe without `start`, idempotent."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait({task}, timeout=deadline)

    async def _run(self) -> None:
        pause = FIRST_SECONDS
        while True:
            await asyncio.sleep(pause)
            try:
                await asyncio.to_thread(self._sweep.run)
                self._outage.ended()
                pause = DAY_SECONDS
            except Exception as error:  # noqa: BLE001  whatever it is: without sweeps data is kept for too long
                self._outage.failed(error)
                pause = AGAIN_SECONDS
