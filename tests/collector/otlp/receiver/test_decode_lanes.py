"""The threads that decode requests."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest

from tracejury.collector.otlp.receiver.intake import INLINE_BYTES, LANES, DecodeLanes

HUGE = LANES["large"] + 1
MIDDLE = INLINE_BYTES + 1


@pytest.fixture
async def lanes() -> AsyncIterator[DecodeLanes]:
    lanes = DecodeLanes()
    yield lanes
    lanes.close()


@pytest.mark.parametrize("size", [INLINE_BYTES, MIDDLE, LANES["large"]])
async def test_a_huge_body_delays_only_huge_ones(lanes: DecodeLanes, size: int) -> None:
    """Smaller ones are decoded while it is still at work, also those of the same client."""
    free = threading.Event()
    huge = asyncio.create_task(lanes.run(HUGE, "a", free.wait))
    next_huge = asyncio.create_task(lanes.run(HUGE, "b", lambda: "huge"))
    assert await lanes.run(size, "a", lambda: "done") == "done"
    assert not huge.done()
    assert not next_huge.done()
    free.set()
    assert (await huge, await next_huge) == (True, "huge")


async def test_clients_take_turns(lanes: DecodeLanes) -> None:
    """Whoever sent many bodies at once does not keep others waiting for all of them."""
    free, order = threading.Event(), list[str]()
    calls: list[asyncio.Task[Any]] = [asyncio.create_task(lanes.run(MIDDLE, "greedy", free.wait))]
    calls += [
        asyncio.create_task(lanes.run(MIDDLE, client, partial(order.append, name)))
        for client, name in (("greedy", "greedy 2"), ("greedy", "greedy 3"), ("honest", "honest"))
    ]
    await asyncio.sleep(0)  # all have asked by now
    free.set()
    await asyncio.gather(*calls)
    assert order.index("honest") < order.index("greedy 3")


async def test_an_error_reaches_whoever_waits(lanes: DecodeLanes) -> None:
    """And the lane goes on."""
    with pytest.raises(ZeroDivisionError):
        await lanes.run(MIDDLE, "a", lambda: 1 / 0)
    assert await lanes.run(MIDDLE, "a", lambda: 1) == 1
