"""A lock around the steps of several threads, which one may leave for work that shares nothing with the others."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType


class StepLock:
    """Held by one thread at a time; not re-entrant."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._lock.release()

    @contextmanager
    def left(self) -> Iterator[None]:
        """Let other threads step meanwhile; for the thread that holds it."""
        self._lock.release()
        try:
            yield
        finally:
            self._lock.acquire()
