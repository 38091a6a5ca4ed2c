"""A cluster of two shards in one engine, served as `clickhouse_http` does; a process of its own, as its engine is.

The engine's Distributed tables are the real ones: both shards are this server, and a filter of its user shows each of
them its own rows alone (`shardNum`). What it lacks is taken from statements before they run: ON CLUSTER (it has no
Keeper and carries everything out itself) and replication.

Run it with a folder; it prints its address once it answers, and ends with its standard input.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

import chdb
from clickhouse_http import ClickHouseServer, clickhouse_server

from tracejury.collector.store.cluster import SHARDING, local

CLUSTER: Final = "two"
DATABASES: Final = tuple(f"tracejury_test_{name}" for name in ("kept", "served", "second", "pages", "fresh"))
"""The databases of which each shard has its rows."""

_PORT: Final = 9000
"""Nobody listens there: it makes a replica this server itself."""
_SHARD: Final = f"<shard><replica><host>127.0.0.1</host><port>{_PORT}</port></replica></shard>"
_CONFIG: Final = f"""<clickhouse>
<tcp_port>{_PORT}</tcp_port>
<remote_servers><{CLUSTER}>{_SHARD}{_SHARD}</{CLUSTER}></remote_servers>
<macros><shard>1</shard><replica>one</replica></macros>
<users_config>{{users}}</users_config>
</clickhouse>"""
_USERS: Final = """<clickhouse><profiles><default/></profiles><quotas><default/></quotas><users><default>
<password/><networks><ip>::/0</ip></networks><profile>default</profile><quota>default</quota>
<databases>{filters}</databases></default></users></clickhouse>"""

_CLAUSE: Final = re.compile(rb" ON CLUSTER `two`")
_ENGINE: Final = re.compile(rb"ENGINE = Replicated(\w+)\('[^']+', '[^']+'(?:, )?")
_REMOTE: Final = ("prefer_localhost_replica",)
"""Settings that would have it connect to itself."""


class ClickHouseCluster(ClickHouseServer):
    """The cluster `CLUSTER`, by any of its servers."""

    without = _REMOTE

    def plain(self, sql: bytes) -> bytes:
        """The statement as one server alone carries it out."""
        return _ENGINE.sub(rb"ENGINE = \1(", _CLAUSE.sub(b"", sql))


@contextmanager
def clickhouse_cluster(folder: Path) -> Iterator[str]:
    """The DSN of a cluster with its files in `folder`, without database."""
    with subprocess.Popen(  # noqa: S603 - this file
        [sys.executable, __file__, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.stdin.close()
        process.stdout.read()


def _filters() -> Iterator[str]:
    for database in DATABASES:
        tables = (
            f"<{local(table)}><filter>{escape(f'shardNum() IN (0, 1 + {key} % 2)')}</filter></{local(table)}>"
            for table, key in SHARDING.items()
        )
        yield f"<{database}>{''.join(tables)}</{database}>"


def _serve(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    users, config = folder / "users.xml", folder / "config.xml"
    users.write_text(_USERS.format(filters="".join(_filters())))
    config.write_text(_CONFIG.format(users=users))
    keeper = chdb.connect(f"{folder / 'db'}?config-file={config}")  # type: ignore[no-untyped-call]
    keeper.query("CREATE TABLE IF NOT EXISTS system.zookeeper (name String) ENGINE = Memory")  # it seems to have one
    with clickhouse_server(folder / "db", of=ClickHouseCluster) as server:
        print(server.dsn, flush=True)  # noqa: T201 - to who started it
        sys.stdin.read()
    keeper.close()


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
