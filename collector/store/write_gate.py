"""A gate before all statements that write: closed for a moment, it shows the store as it is between two of them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class WriteGate:
    """Passes writing statements side by side, or closes. Safe from any thread.

    Whoever closes it must not write through it meanwhile.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._writing = 0
        self._closed = False

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Around one statement; waits while the gate is closed."""
        with self._changed:
            self._changed.wait_for(lambda: not self._closed)
            self._writing += 1
        try:
            yield
        finally:
            with self._changed:
                self._writing -= 1
                self._changed.notify_all()

    def close(self, patience: float) -> bool:
        """Let no statement begin, and wait for those under way; False, and open, if one takes longer (seconds)."""
        with self._changed:
            self._changed.wait_for(lambda: not self._closed)
            self._closed = True
            if self._changed.wait_for(lambda: not self._writing, patience):
                return True
        self.open()
        return False

    def open(self) -> None:
        """Let statements pass again."""
        with self._changed:
            self._closed = False
            self._changed.notify_all()
