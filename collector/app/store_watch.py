"""The task that looks at the health of the store: at the start, every minute, and at the end."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from ...schemas.errors import TracejuryError
from ..store.health import StoreHealth

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 60.0


class StoreWatch:
    """Runs `health` in threads."""

    def __init__(self, health: StoreHealth, seconds: float = LOOK_SECONDS) -> None:
        self._health, self._seconds = health, seconds
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Look once, and go on in the background. Raises RetryableError, StoreError."""
        new = await asyncio.to_thread(self._look)
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
                await asyncio.sleep(self._seconds)
                is_new = await asyncio.to_thread(self._look)
            except TracejuryError as error:
                log.warning("the health of the store is not known: %s", error)
                await asyncio.sleep(self._seconds)

    def _look(self) -> bool:
        """Whether anything new is lost."""
        new = self._health.look()
        for problem in new:
            log.error("the store lost rows: %s (tracejury store check)", problem)
        return bool(new)
