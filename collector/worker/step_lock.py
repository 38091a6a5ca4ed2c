"""A lock around the steps of several threads, which one may leave for work that shares nothing with the others."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType


class StepLock:
    """Held by one thread at a time, in the order in which they asked; not re-entrant.

    `threading.Lock` has no order: a thread that steps in a loop may take it again before one that waits.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._tickets = self._serving = 0

    @property
    def waiting(self) -> int:
        """How many threads wait for it."""
        with self._changed:
            return max(self._tickets - self._serving - 1, 0)

    def __enter__(self) -> None:
        with self._changed:
            ticket = self._tickets
            self._tickets += 1
            self._changed.wait_for(lambda: self._serving == ticket)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with self._changed:
            self._serving += 1
            self._changed.notify_all()

    @contextmanager
    def left(self) -> Iterator[None]:
        """Let other threads step meanwhile; for the thread that holds it."""
        self.__exit__(None, None, None)
        try:
            yield
        finally:
            self.__enter__()
