"""Fixtures for tests on the real embedded engine: one engine a process, a database a test."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tracejury.collector.store.client import Store
from tracejury.collector.store.config import StoreConfig
from tracejury.collector.store.migrate import migrate

KEEP_ALL = StoreConfig(retention_days=None)
"""Tests choose their own dates: nothing may expire."""


@pytest.fixture(scope="session")
def store_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of the process's one engine, which stays open for the whole session."""
    pytest.importorskip("chdb", reason="the embedded engine is not installed")
    folder = tmp_path_factory.mktemp("store") / "db"
    keeper = Store.open(f"chdb://{folder}", KEEP_ALL)
    yield folder
    keeper.close()


@pytest.fixture
def store_dsn(request: pytest.FixtureRequest, store_folder: Path) -> Iterator[str]:
    """The DSN of a database that no other test uses; it does not exist yet and is dropped after the test."""
    if request.node.get_closest_marker("store") is None:
        pytest.fail("a test that uses the store must be marked: pytestmark = pytest.mark.store")
    dsn = f"chdb://{store_folder}?database=t_{uuid.uuid4().hex}"
    yield dsn
    store = Store.open(dsn, KEEP_ALL)
    store.drop_database()
    store.close()


@pytest.fixture
def store(store_dsn: str) -> Iterator[Store]:
    """An empty migrated store, without retention."""
    store = Store.open(store_dsn, KEEP_ALL)
    migrate(store)
    yield store
    store.close()
