"""The threads that decode requests: a large body must not keep a small one waiting, nor one client all others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar
from weakref import WeakValueDictionary

from tracejury.schemas.config_base import MIB

T = TypeVar("T")

INLINE_BYTES: Final = 16 * 1024
"""Bodies up to this size are decoded on the event loop (below 1 ms as a rule): a change of threads gains nothing."""
LANES: Final = {"small": 512 * 1024, "large": 4 * MIB, "huge": 2**63}
"""The largest body of each lane, in bytes."""


class DecodeLanes:
    """One thread for each range of sizes; more would share the interpreter's lock, and hold several huge bodies.

    In a lane the clients take turns: the bodies of one client enter it one after the other.
    """

    def __init__(self) -> None:
        self._threads = {lane: ThreadPoolExecutor(1, thread_name_prefix=f"otlp-decode-{lane}") for lane in LANES}
        self._turns: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    async def run(self, size: int, client: str, work: Callable[[], T], *, inline: bool = True) -> T:
        """The result of `work`, which decodes a body of `size` bytes from `client` (a connection).

        Small work is done at once on the event loop if it may be done `inline`.
        """
        if inline and size <= INLINE_BYTES:
            return work()
        lane = next(name for name, most in LANES.items() if size <= most)
        turn = self._turns.setdefault((client, lane), asyncio.Lock())
        async with turn:
            return await asyncio.get_running_loop().run_in_executor(self._threads[lane], work)

    def close(self) -> None:
        """Stop the threads; safe to call twice."""
        for thread in self._threads.values():
            thread.shutdown(wait=False)
