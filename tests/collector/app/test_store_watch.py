"""The watch over the store's health goes on, whatever one look fails with."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

import pytest

from tracejury.collector.app.store_watch import StoreWatch
from tracejury.collector.store.client import Store
from tracejury.collector.store.health import StoreHealth
from tracejury.schemas.errors import RetryableError


class FailingHealth(StoreHealth):
    """Looks fail with these errors in turn (None: with none); `went_on` is set by the first look after them."""

    def __init__(self, store: Store, *errors: Exception | None) -> None:
        super().__init__(store)
        self._errors, self._loop, self.went_on = list(errors), asyncio.get_running_loop(), asyncio.Event()

    def look(self) -> Sequence[str]:
        if not self._errors:
            self._loop.call_soon_threadsafe(self.went_on.set)
        elif error := self._errors.pop(0):
            raise error
        return super().look()


@pytest.mark.parametrize(
    "error", [PermissionError(13, "Permission denied"), ValueError("a bug"), RetryableError("away")]
)
async def test_it_goes_on_after_any_error(store: Store, caplog: pytest.LogCaptureFixture, error: Exception) -> None:
    """With one line for failures in a row, and one when it works again."""
    caplog.set_level(logging.INFO)
    health = FailingHealth(store, None, error, error, error)
    store_watch = StoreWatch(health, 0.0)
    await store_watch.start()
    await asyncio.wait_for(health.went_on.wait(), 30)
    await store_watch.stop(10)
    lines = [record.message for record in caplog.records if "the health of the store" in record.message]
    assert lines[0] == f"the health of the store is not known: {error}"
    assert len(lines) <= 2
    assert all("is known again" in line for line in lines[1:])


async def test_a_start_that_cannot_look_at_the_folder(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    """The collector starts without the look, and the next one is made; a store that fails stops the start."""
    health = FailingHealth(store, PermissionError(13, "Permission denied"))
    store_watch = StoreWatch(health, 0.0)
    await store_watch.start()
    await asyncio.wait_for(health.went_on.wait(), 30)
    await store_watch.stop(10)
    assert "the health of the store is not known: [Errno 13] Permission denied" in caplog.text
    with pytest.raises(RetryableError):
        await StoreWatch(FailingHealth(store, RetryableError("away"))).start()
