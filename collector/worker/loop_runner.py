"""Coroutines on the event loop of another thread, waited for as if they were calls."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class LoopRunner:
    """Made in the running event loop; `run` from any other thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._running: set[Future[Any]] = set()
        self._is_cancelled = False

    def run(self, call: Coroutine[Any, Any, T]) -> T:
        """Wait for what it gives. Raises concurrent.futures.CancelledError after `cancel`, else what it raises."""
        future = asyncio.run_coroutine_threadsafe(call, self._loop)
        self._running.add(future)
        if self._is_cancelled:
            future.cancel()
        try:
            return future.result()
        finally:
            self._running.discard(future)

    def cancel(self) -> None:
        """Cancel what runs and what is still to come: a worker that waits for it ends."""
        self._is_cancelled = True
        for future in tuple(self._running):
            future.cancel()
