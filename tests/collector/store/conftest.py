"""A store whose inserts can be held up and made to fail."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator

import pytest
from watched_store import WatchedStore

from tracejury.collector.store.config import StoreConfig
from tracejury.collector.store.migrate import migrate


@pytest.fixture
async def watched(store_dsn: str) -> AsyncIterator[WatchedStore]:
    store = WatchedStore.open(store_dsn, StoreConfig(retention_days=None))
    assert isinstance(store, WatchedStore)
    store.gate, store.faults, store.inserts, store.writers = threading.Event(), {}, [], []
    store.gate.set()
    migrate(store)
    yield store
    for writer in store.writers:
        await writer.stop(10)
    store.close()
