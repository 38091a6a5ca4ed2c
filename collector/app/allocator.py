"""The C library's allocator: what a burst of requests left free goes back to the system.

glibc keeps an arena a thread and returns little of them while anything in use lies behind. Elsewhere (musl, macOS)
there is nothing to do.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from typing import Final

EVERY_SECONDS: Final = 30.0
"""Under load the collector needs the memory again soon (docs/benchmarks.md, Sustained load)."""

WORKED: Final = 0.5
"""Seconds of CPU time since the last time after which there may be something to return."""


class Allocator:
    """`worked`: seconds of CPU time that the process has taken."""

    def __init__(self, worked: Callable[[], float] = time.process_time) -> None:
        self._trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        self._worked, self._last = worked, 0.0

    def trim(self) -> bool:
        """Return free memory, unless the process has been idle; returns whether it was tried."""
        worked = self._worked()
        if self._trim is None or worked < self._last + WORKED:
            return False
        self._trim(0)
        self._last = worked
        return True
