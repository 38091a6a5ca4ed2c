"""Waiting for a change in one event loop, told from any thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Bell:
    """Made in the loop that waits. Whoever waits looks again after each ring."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._rung = asyncio.Event()

    def ring(self) -> None:
        """Something has changed; in the loop."""
        self._rung.set()

    def ring_from_afar(self) -> None:
        """The same from another thread."""
        self._loop.call_soon_threadsafe(self.ring)

    async def until(self, ready: Callable[[], bool], seconds: Callable[[], float | None] = lambda: None) -> None:
        """Wait until `ready`, or as long as `seconds` says (asked after each ring; None: without end)."""
        while not ready():
            rung = self._rung
            try:
                async with asyncio.timeout(seconds()):
                    await rung.wait()
            except TimeoutError:
                return
            if rung is self._rung:
                self._rung = asyncio.Event()
