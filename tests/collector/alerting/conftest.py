"""Alert rules over an empty store."""

from __future__ import annotations

import pytest
from alert_bench import Bench

from tracejury.collector.store.shared_store import SharedStore


@pytest.fixture
def bench(store: SharedStore) -> Bench:
    return Bench(store)
