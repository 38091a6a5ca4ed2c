"""The background work on rates, for the collector to start and to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from ..store.client import Store
from .keeping import Keeping
from .rates import StoredRates


def keep_rates(
    store: Store, rates: StoredRates, pressed: Callable[[], bool], clock: Callable[[], int]
) -> Callable[[float], Awaitable[None]]:
    """Start it; gives what stops it within so many seconds. `pressed`: whether clients wait for the store just now."""
    keeping = Keeping(store, rates.folding, pressed=pressed, clock=clock)
    keeping.start()
    return lambda deadline: asyncio.to_thread(keeping.stop, deadline)
