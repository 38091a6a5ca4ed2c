"""Statements for a ClickHouse cluster: the form of each, and all that a collector says on one of two shards."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from clickhouse_cluster import CLUSTER, DATABASES, clickhouse_cluster
from clickhouse_http import clickhouse_server
from hook_server import SECRET
from two_projects import Projects, Tenant, projects, sent, settled
from walked import filled, routes

from tracejury.collector.cli.root import root
from tracejury.collector.store.cluster import SHARDING, Cluster
from tracejury.collector.store.config import StoreConfig
from tracejury.collector.store.dead_letter import DeadLetterFolder
from tracejury.collector.store.migrate import migrations, require_migrated
from tracejury.collector.store.opening import KEPT, RETAINED
from tracejury.collector.store.retention_sweep import RetentionSweep
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.errors import ConfigError

ON = Cluster(CLUSTER, "db")


def test_each_statement_of_the_migrations_has_its_form(store: SharedStore) -> None:
    """The engine's own parser takes all of them, and nothing is made or changed on one server alone."""
    for migration in migrations():
        for statement in migration.statements:
            for made in ON.statements(statement):
                formatted = store.rows("SELECT formatQuery({sql:String})", {"sql": made})[0][0]
                assert f"ON CLUSTER {CLUSTER}" in formatted or formatted.startswith("INSERT INTO "), made
                assert ("MergeTree" in formatted) == ("Replicated" in formatted), made


def test_rows_of_one_key_lie_on_one_shard(store: SharedStore) -> None:
    """What a table is sharded by is a function of its sorting key, or FINAL would keep a row a shard."""
    sql = "SELECT name, sorting_key FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree'"
    keys = {str(name): str(key) for name, key in store.rows(sql)}
    assert keys.keys() == SHARDING.keys() - {"rate_cells", "rate_buckets"}, "a table without a sharding key"
    assert keys.keys() - {"migrations"} == {*RETAINED, *KEPT}
    for table, key in keys.items():
        named = set(re.findall(r"\b[A-Za-z]+\b(?!\()", re.sub(r"'[^']*'", "", SHARDING[table])))
        assert named <= set(key.split(", ")), table
        assert ("tenant" in named) == (table != "migrations")


ADDED = "ADD COLUMN IF NOT EXISTS a Map(String, String) DEFAULT map(',', ')')"
INDEXED, DROPPED = "ADD INDEX IF NOT EXISTS i a TYPE minmax GRANULARITY 1", "DROP COLUMN IF EXISTS b"
FORMS = {
    f"ALTER TABLE t {ADDED}, {INDEXED},\n    {DROPPED}": (
        f"ALTER TABLE t_local ON CLUSTER `two` {ADDED}, {INDEXED},\n    {DROPPED}",
        f"ALTER TABLE t ON CLUSTER `two` {ADDED}, {DROPPED}",
    ),
    f"ALTER TABLE t {INDEXED}": (f"ALTER TABLE t_local ON CLUSTER `two` {INDEXED}",),
    "ALTER TABLE `t` MODIFY SETTING a = 1, b = 2": (
        "ALTER TABLE t_local ON CLUSTER `two` MODIFY SETTING a = 1, b = 2",
    ),
    "DELETE FROM t WHERE a IN {a:Array(String)}": (
        "DELETE FROM t_local ON CLUSTER `two` WHERE a IN {a:Array(String)}",
    ),
    "TRUNCATE TABLE t": ("TRUNCATE TABLE t_local ON CLUSTER `two`",),
    "OPTIMIZE TABLE t FINAL": ("OPTIMIZE TABLE t_local ON CLUSTER `two` FINAL",),
    "DROP TABLE IF EXISTS t": (
        "DROP TABLE IF EXISTS t ON CLUSTER `two` SYNC",
        "DROP TABLE IF EXISTS t_local ON CLUSTER `two` SYNC",
    ),
    "-- A reason; and why.\nINSERT INTO t SELECT 1": ("INSERT INTO t SELECT 1",),
}
UNKNOWN = (
    "DELETE FROM t WHERE a IN (SELECT a FROM u)",  # replicas may find other rows
    "ALTER TABLE t MODIFY COLUMN a String",
    "ALTER TABLE t DETACH PART 'all_1_1_0'",
    "CREATE TABLE IF NOT EXISTS t (a String) ENGINE = Memory",
    "CREATE MATERIALIZED VIEW t AS SELECT 1",
    "SYSTEM STOP MERGES",
)


def test_the_form_of_each_kind_of_statement() -> None:
    """Columns change on both tables, what concerns stored rows on those that hold them; no other kind passes."""
    assert {sql: ON.statements(sql) for sql in FORMS} == FORMS
    for sql in UNKNOWN:
        with pytest.raises(ValueError, match="no form for a cluster is known"):
            ON.statements(sql)


@pytest.mark.parametrize(
    ("served", "said"),
    [
        ((["a", "b"], ["shard", "replica"], 1), "knows no cluster 'two' (it knows: a, b): correct store.cluster"),
        (([], [], 0), "knows no cluster 'two' (it knows: none)"),
        ((["two"], ["layer"], 1), "has no macro replica and shard"),
        ((["two"], ["shard", "replica"], 0), "has no ClickHouse Keeper"),
    ],
)
def test_what_a_server_lacks_is_said(served: tuple[Any, ...], said: str) -> None:
    """In one line, before anything is made."""
    with pytest.raises(ConfigError, match=re.escape(said)):
        ON.check(served, "clickhouse://db")


def test_a_wrong_cluster_stops_the_start(store_folder: Path, store: SharedStore) -> None:
    """One that no server names; and any with an embedded store, or one that was migrated as one server's."""
    config = StoreConfig(cluster="nope")
    with clickhouse_server(store_folder) as server:
        dsn = f"{server.dsn}/{store.database}"
        with pytest.raises(ConfigError, match="knows no cluster 'nope'"):
            SharedStore.open(dsn, config)
    with pytest.raises(ConfigError, match="is embedded"):
        SharedStore.open(f"chdb://{store_folder}", config)
    store.cluster = Cluster("nope", store.database)
    with pytest.raises(ConfigError, match=r"was migrated for one server, and store.cluster names the cluster 'nope'"):
        require_migrated(store)
    store.cluster = None
    said = CliRunner().invoke(root, ["migrate", "--store", f"chdb://{store_folder}", "--cluster", "two"])
    assert (said.exit_code, said.stdout, len(said.stderr.splitlines())) == (1, "", 1)
    assert "store.cluster names a cluster of ClickHouse servers" in said.stderr


REAL = os.environ.get("TRACEJURY_TEST_CLICKHOUSE_CLUSTER", "")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The DSN of a cluster, without database: a real one where there is one."""
    if REAL:
        yield os.environ["TRACEJURY_TEST_CLICKHOUSE_URL"]
        return
    pytest.importorskip("chdb", reason="the embedded engine is not installed")
    with clickhouse_cluster(tmp_path_factory.mktemp("cluster")) as dsn:
        yield dsn


TIMES = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z|\b\d{16,20}\b")
ALL_OF_IT = {"profile": "0", "since": "3650d"}


async def told(world: Projects) -> dict[str, str]:
    """What a project is told by each route of the API, without times; before and after the deletion of a trace."""
    own, kind = world.acme, {"content-type": "application/json"}
    for trace in (8, 9, 11):
        new = Tenant(own.name, own.token, bytes([trace]) * 16)
        assert (await sent(world, new, new.headers())).status_code == 200
        await settled(world, new)  # one after the other: lists go by when an error was first seen
    error = (await world.get("/api/errors", own, params=ALL_OF_IT)).json()["items"][0]["id"]
    found = {}
    for when in ("before", "after"):
        for method, path in routes():
            if method == "GET" and path.startswith("/api") and path != "/api/receipts":
                answer = await world.get(filled(path, own, error), own, params=ALL_OF_IT)
                assert answer.status_code < 500, (path, answer.text)
                found[f"{path} {when}"] = TIMES.sub("T", answer.text)
        if when == "before":
            first = f"/api/traces/{(bytes([8]) * 16).hex()}"
            deleted = await world.http.delete(first, headers=own.headers() | kind)
            assert deleted.status_code == 200, deleted.text
            found["deletion"] = str(sorted(deleted.json()["receipt"]["rows"].items()))
    return found


@pytest.mark.timeout(300)
async def test_one_cluster_says_what_one_server_does(
    cluster: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that a collector asks and tells to a store, where a project's traces lie on two shards.

    The migrations were interrupted halfway, and are run again.
    """
    monkeypatch.setenv("HOOK", SECRET)
    config = StoreConfig(dsn=f"{cluster}/{DATABASES[0]}", cluster=REAL or CLUSTER, migrate=True)
    store = SharedStore.open(config.dsn, config)
    store.drop_database()
    store.create_database()
    for statement in (s for migration in migrations()[:6] for s in migration.statements):
        store.command(statement)
    found = []
    single = f"chdb://{tmp_path}/db" if REAL else request.getfixturevalue("served_dsn")
    for name, given in (("one", StoreConfig(dsn=single, cluster="")), ("two", config)):
        (folder := tmp_path / name).mkdir()
        section = given.model_dump(mode="json", include={"dsn", "cluster", "migrate"})
        async with projects(given.dsn, folder, store=section) as world:
            found.append(await told(world))
    assert found[0] == found[1]
    shards = (
        "SELECT shardNum() AS Shard, count() FROM {} WHERE tenant = 'acme' GROUP BY Shard HAVING count() ORDER BY ALL"
    )
    for table in ("spans", "findings", "traces"):
        assert REAL or [shard for shard, _ in store.rows(shards.format(table))] == [1, 2], table
    RetentionSweep(store, lambda _: pytest.fail("no rule"), DeadLetterFolder(tmp_path, 1)).run()
    assert store.rows(f"SELECT count() FROM {store.every('system.parts')} WHERE active AND has_lightweight_delete") == [
        (0,)
    ]
    store.close()
    store = SharedStore.open(config.dsn, StoreConfig(cluster=""))
    with pytest.raises(ConfigError, match=r"was migrated for a cluster, and store.cluster names none"):
        require_migrated(store)
    store.close()
