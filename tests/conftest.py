"""Fixtures for tests on the real embedded engine: one engine a process, empty databases for each test."""

from __future__ import annotations

import gc
import os
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import certifi
import pytest
from hypothesis import settings
from served_api import Api, api_over
from sizes import FULL

from tracejury.collector.store.cluster import of_all
from tracejury.collector.store.config import StoreConfig
from tracejury.collector.store.migrate import migrate
from tracejury.collector.store.parts import record_file
from tracejury.collector.store.shared_store import SharedStore

if TYPE_CHECKING:
    from kafka_broker import Cluster

# Images often set it; each run, and every process of the tests, would then compile the project anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# All that a run collects lives to its end: looking through it again and again is a twelfth of the work.
gc.disable()

# No test depends on timing.
settings.register_profile("tracejury", deadline=None, max_examples=30)
settings.register_profile(FULL, deadline=None, max_examples=100)
settings.load_profile("tracejury")

SERVER = os.environ.get("TRACEJURY_TEST_CLICKHOUSE_URL", "")
"""Where tests of the store run instead of in the embedded engine: `clickhouse://user:password@host:8123`."""

if cluster := os.environ.get("TRACEJURY_TEST_CLICKHOUSE_CLUSTER"):
    StoreConfig.model_fields["cluster"].default = cluster
    StoreConfig.model_rebuild(force=True)

KEEP_ALL = StoreConfig(retention_days=None)
"""Tests choose their own dates: nothing may expire."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test with a fixture on the engine uses the store."""
    for item in items:
        if "store_folder" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.store)


def pytest_collection_finish() -> None:
    """From here on only what tests make is looked through."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Half as many again as there are cores: many tests wait for processes and browsers."""
    return (os.cpu_count() or 1) * 3 // 2


@pytest.fixture(scope="session", autouse=True)
def one_authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Of the authorities that certifi trusts, one: httpx reads all of them for each client, a fortieth of a second."""
    file = tmp_path_factory.mktemp("certifi") / "one.pem"
    first, end, _ = Path(certifi.where()).read_text("utf-8").partition("-----END CERTIFICATE-----\n")
    file.write_text(first + end, "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(certifi, "where", lambda: str(file))
        yield


@pytest.fixture(scope="session")
def store_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of the process's one engine, which stays open for the whole session; empty with a server."""
    if SERVER:
        yield tmp_path_factory.mktemp("store")
        return
    pytest.importorskip("chdb", reason="the embedded engine is not installed")
    folder = tmp_path_factory.mktemp("store") / "db"
    keeper = SharedStore.open(f"chdb://{folder}", KEEP_ALL)
    yield folder
    keeper.close()


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One broker of Apache Kafka; tests make topics and groups of their own."""
    pytest.importorskip("confluent_kafka", reason="the client of Kafka is not installed")
    from kafka_broker import cluster, missing

    if why := missing():
        pytest.skip(why)
    with cluster(tmp_path_factory.mktemp("kafka")) as found:
        yield found


@pytest.fixture(scope="session")
def one_api(store_folder: Path) -> Iterator[Api]:
    """One application over a store of its own."""
    store = emptied(dsn_of(store_folder, "pages"), "create_table_query")
    with api_over(store) as api:
        yield api
    store.close()


@pytest.fixture
def api(one_api: Api) -> Api:
    """API and pages over an empty store."""
    one_api.empty()
    return one_api


@pytest.fixture
def new_dsn(store_folder: Path) -> Iterator[str]:
    """The DSN of a database that does not exist yet; it is dropped after the test."""
    dsn = dsn_of(store_folder, "fresh" if SERVER else f"t_{uuid.uuid4().hex}")
    yield dsn
    store = SharedStore.open(dsn, KEEP_ALL)
    store.drop_database()
    store.close()


@pytest.fixture
def store(store_folder: Path) -> Iterator[SharedStore]:
    """An empty migrated store, without retention."""
    store = emptied(dsn_of(store_folder, "kept"), "create_table_query")
    yield store
    store.close()


@pytest.fixture
def store_dsn(store: SharedStore, store_folder: Path) -> str:
    """The DSN of `store`."""
    return dsn_of(store_folder, store.database.removeprefix(_OURS))


@pytest.fixture
def served_dsn(store_folder: Path) -> str:
    """The DSN of an empty migrated database for a collector."""
    return served(dsn_of(store_folder, "served"))


@pytest.fixture
def second_dsn(store_folder: Path) -> str:
    """The DSN of another database for a collector."""
    return served(dsn_of(store_folder, "second"))


def dsn_of(folder: Path, database: str) -> str:
    """The DSN of a database of the tests."""
    return f"{SERVER}/{_OURS}{database}" if SERVER else f"chdb://{folder}?database={database}"


def served(dsn: str) -> str:
    """Empty the database of a collector, which brings retention and fsync in line itself; returns `dsn`."""
    emptied(dsn, "splitByRegexp(' TTL | SETTINGS ', create_table_query)[1]").close()
    return dsn


def emptied(dsn: str, sql: str) -> SharedStore:
    """A migrated store without rows.

    Migrating takes longer than most tests: the database is emptied and used again, and made anew where a test left
    other tables, of which `sql` tells what matters.
    """
    store = SharedStore.open(dsn, KEEP_ALL)
    query = f"SELECT name, {sql}, total_rows FROM system.tables WHERE database = currentDatabase()"
    found = store.rows(query) if store.database_exists() else []
    if {(name, made) for name, made, _ in found} != _made.get(dsn):
        store.drop_database()
        store.close()  # a server takes no statement of a client that was in the database
        store = SharedStore.open(dsn, KEEP_ALL)
        migrate(store)
        _made[dsn] = {(name, made) for name, made, _ in store.rows(query)}
        return store
    for name, _, rows in found:
        if rows and of_all(name) != "migrations":
            store.command(f"TRUNCATE TABLE {of_all(name)}")
    if (record := record_file(store)) is not None:
        record.unlink(missing_ok=True)  # of data parts that are not lost
    return store


_made: dict[str, set[tuple[str, str]]] = {}
_OURS = "tracejury_test_"
"""The beginning of the names of databases on a server."""
