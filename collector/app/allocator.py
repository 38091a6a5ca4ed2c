"""The C library's allocator: what a burst of requests left free goes back to the system.

glibc keeps an arena a thread and returns little of them: 1.5 GB stayed resident after a load of 400 MB. Elsewhere
(musl, macOS) there is nothing to do.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from typing import Final

EVERY_SECONDS: Final = 3.0
WORKED: Final = 0.5
"""Seconds of CPU time since the last time after which there may be something to return."""

_ARENA_MAX, _MMAP_THRESHOLD = -8, -3  # malloc.h
_ARENAS: Final = 2
_LARGE: Final = 128 * 1024
"""Bytes from which on a block has pages of its own, which go back as soon as it is freed (glibc's first default)."""


class Allocator:
    """`worked`: seconds of CPU time that the process has taken."""

    def __init__(self, worked: Callable[[], float] = time.process_time) -> None:
        library = ctypes.CDLL(None)
        self._trim = getattr(library, "malloc_trim", None)
        self._option = getattr(library, "mallopt", None)
        self._worked, self._last = worked, 0.0

    def tune(self) -> None:
        """Have threads share arenas, and large blocks pages of their own. Call it before threads start."""
        if self._option is not None and self._trim is not None:
            self._option(_ARENA_MAX, _ARENAS)
            self._option(_MMAP_THRESHOLD, _LARGE)

    def trim(self) -> bool:
        """Return free memory, unless the process has been idle; returns whether it was tried."""
        worked = self._worked()
        if self._trim is None or worked < self._last + WORKED:
            return False
        self._trim(0)
        self._last = worked
        return True
