"""A wake-up for threads that wait for work."""

from __future__ import annotations

import threading


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
