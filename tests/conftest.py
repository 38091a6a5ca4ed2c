"""Fixtures for tests on the real embedded engine: one engine a process, an empty database for each test."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tracejury.collector.store.client import Store
from tracejury.collector.store.config import StoreConfig
from tracejury.collector.store.migrate import migrate

settings.register_profile("tracejury", deadline=None)  # no test depends on timing
settings.load_profile("tracejury")

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
    require_marker(request)
    dsn = f"chdb://{store_folder}?database=t_{uuid.uuid4().hex}"
    yield dsn
    store = Store.open(dsn, KEEP_ALL)
    store.drop_database()
    store.close()


@pytest.fixture
def store(request: pytest.FixtureRequest, store_folder: Path) -> Iterator[Store]:
    """An empty migrated store, without retention.

    Migrating takes longer than most tests: the database is emptied and used again, and made anew where a test left
    other tables than it found.
    """
    require_marker(request)
    store = Store.open(f"chdb://{store_folder}?database=shared", KEEP_ALL)
    empty(store)
    yield store
    store.close()


def require_marker(request: pytest.FixtureRequest) -> None:
    """Only marked tests may touch the store."""
    if request.node.get_closest_marker("store") is None:
        pytest.fail("a test that uses the store must be marked: pytestmark = pytest.mark.store")


def empty(store: Store) -> None:
    """Leave the migrated tables, as they were made, and no rows."""
    tables = "SELECT name, create_table_query, total_rows FROM system.tables WHERE database = currentDatabase()"
    made = store.rows(tables) if store.database_exists() else []
    if not made or {(name, sql) for name, sql, _ in made} != _made:
        store.drop_database()
        migrate(store)
        _made.clear()
        _made.update((name, sql) for name, sql, _ in store.rows(tables))
        return
    for name, _, rows in made:
        if rows and name != "migrations":
            store.command(f"TRUNCATE TABLE {name}")


_made: set[tuple[str, str]] = set()
