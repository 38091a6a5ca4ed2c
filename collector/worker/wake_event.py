"""A wake-up for threads that wait for work."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable


class WakeEvent:
    """Counts wake-ups. A thread reads `count`, looks for work, and waits for a later wake-up: none is missed."""

    def __init__(self) -> None:
        self.count = 0
        self._changed = threading.Condition()

    def wake(self) -> None:
        """Wake every thread that waits; from any thread, returns at once."""
        with self._changed:
            self.count += 1
            self._changed.notify_all()

    def wait(self, seen: int, seconds: float | None = None) -> None:
        """Wait until `count` is no longer `seen`, or for so many seconds (None: without end)."""
        with self._changed:
            self._changed.wait_for(lambda: self.count != seen, seconds)


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
