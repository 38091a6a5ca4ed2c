"""What every durable worker promises, whatever its work is: see `workers.WORKERS` and `judging_rigs.JUDGING`."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

import pytest
from judging_rigs import JUDGING
from workers import WORKERS, Rig, name

from tracejury.schemas.errors import RetryableError, StoreError

NAMES = [name(n) for n in range(1, 13)]
ERRORS = [RetryableError("busy"), StoreError("cannot parse"), ValueError("bad row")]


async def until(is_so: Callable[[], bool]) -> None:
    """Wait for something that a worker comes to by itself."""
    async with asyncio.timeout(60):
        while not is_so():  # noqa: ASYNC110  it works on threads
            await asyncio.sleep(0.002)


ALL = WORKERS | JUDGING


@pytest.fixture(params=ALL)
def build(request: pytest.FixtureRequest) -> Callable[[], Rig]:
    return ALL[request.param]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
async def test_nothing_is_lost_when_the_store_fails_at_any_step(build: Callable[[], Rig], error: Exception) -> None:
    """Each call fails once, before and while there is work."""
    rig = build()
    rig.faults.once = dict.fromkeys(rig.calls, error)
    rig.start()
    rig.feed(NAMES[:6])
    await until(lambda: rig.faults.met >= 1)
    rig.feed(NAMES[6:])
    await until(lambda: not rig.poisons or set(rig.saved()) == set(NAMES))
    assert rig.is_alive()
    await rig.stop(10)


async def test_stop_is_safe_without_start_and_twice(build: Callable[[], Rig]) -> None:
    rig = build()
    await rig.stop(1)
    rig = build()
    rig.start()
    await rig.stop(10)
    await rig.stop(10)
    assert not rig.is_alive()


async def test_stop_keeps_its_deadline(build: Callable[[], Rig]) -> None:
    """Though the store answers nobody."""
    rig = build()
    rig.faults.hangs = hangs = threading.Event()
    rig.start()
    rig.feed(NAMES)
    await until(lambda: rig.faults.met >= 1)
    began = time.monotonic()
    await rig.stop(0.2)
    assert time.monotonic() - began < 10
    hangs.set()
    await until(lambda: not rig.is_alive())


async def test_a_poison_item_stops_no_other(build: Callable[[], Rig]) -> None:
    """At whatever call it fails each time."""
    for call in build().poisons:
        rig = build()
        rig.faults.poison = (call, NAMES[3], StoreError("cannot parse"))
        rig.start()
        rig.feed(NAMES)
        await until(lambda: set(rig.saved()) >= {n for n in NAMES if n != NAMES[3]})  # noqa: B023
        assert rig.is_alive()
        await rig.stop(10)


async def test_memory_is_bounded_while_the_store_is_away(build: Callable[[], Rig]) -> None:
    """What finds no room is found in the store once it is back."""
    rig = build()
    rig.faults.always = RetryableError("away")
    rig.start()
    names = [name(n) for n in range(1, 3 * min(rig.bound, 40) + 1)]
    rig.feed(names)
    await until(lambda: rig.faults.met >= 3)
    assert rig.held() <= rig.bound
    rig.faults.always = None
    await until(lambda: set(rig.saved()) == set(names))
    await rig.stop(10)
