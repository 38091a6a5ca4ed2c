"""The task that looks at the health of the store: at the start, every minute, and at the end."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final

from tracejury.collector.store.health import StoreHealth
from tracejury.collector.worker.outage_log import OutageLog

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 60.0


class StoreWatch:
    """Runs `health` in threads. `clock`: unix nanos."""

    def __init__(
        self, health: StoreHealth, seconds: float = LOOK_SECONDS, clock: Callable[[], int] = time.time_ns
    ) -> None:
        self._health, self._seconds = health, seconds
        self._outage = OutageLog("the health of the store", "is not known", "is known again", clock)
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Look once, and go on in the background. Raises RetryableError, StoreError."""
        new = False
        try:
            new = await asyncio.to_thread(self._look)
        except OSError as error:  # of the folder's files: the collector works without the look
            self._outage.failed(error)
        self._task = asyncio.create_task(self._run(is_new=new), name="tracejury-store-watch")

    async def stop(self, deadline: float) -> None:
        """End, and record the parts that are there. Safe without `start`, idempotent."""
        task, self._task = self._task, None
        if task is None:
            return
        task.cancel()
        async with asyncio.timeout(deadline):
            await asyncio.wait({task})
            await asyncio.to_thread(self._health.look)

    async def _run(self, *, is_new: bool) -> None:
        while True:
            try:
                if is_new and (lost := await asyncio.to_thread(self._health.count_lost)):
                    log.error("%s", lost)
                is_new = False
                await asyncio.sleep(self._seconds)
                is_new = await asyncio.to_thread(self._look)
                self._outage.ended()
            except Exception as error:  # noqa: BLE001  whatever it is: a watch that has ended misses every later loss
                self._outage.failed(error)
                await asyncio.sleep(self._seconds)

    def _look(self) -> bool:
        """Whether anything new is lost."""
        new = self._health.look()
        for problem in new:
            log.error("the store lost rows (tracejury store check): %s", problem)
        return bool(new)
