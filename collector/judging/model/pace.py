"""Calls and tokens a minute: who comes too early waits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

MINUTE: Final = 60.0


class Pace:
    """Spreads calls so that neither limit is passed; litellm's own limits refuse instead, and a refused call is lost.

    `requests`, `tokens`: a minute, 0 for no limit. A call larger than a whole minute's tokens is let through alone.
    """

    def __init__(
        self,
        requests: int,
        tokens: int,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._limits = (requests, tokens)
        self._clock = clock
        self._sleep = sleep
        self._free_at = [0.0, 0.0]

    async def turn(self, tokens: int) -> None:
        """Wait until a call of so many tokens may be sent."""
        now = self._clock()
        # Each limit is a queue served at an even rate: a call takes its place at once, and then waits for it.
        starts = now
        for i, (limit, units) in enumerate(zip(self._limits, (1, tokens), strict=True)):
            if limit:
                start = max(self._free_at[i], now)
                self._free_at[i] = start + MINUTE * min(units, limit) / limit
                starts = max(starts, start)
        if starts > now:
            await self._sleep(starts - now)
