"""Several collectors' processes over one ClickHouse server, and all that is stored but for times: for comparing.

`contents` of a store that several processes wrote equals, byte for byte, that of one process over the same spans.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from clickhouse_http import clickhouse_server

from tracejury.collector.store.client import Store
from tracejury.collector.store.config import StoreConfig
from tracejury.collector.store.migrate import migrate
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.llm_rows import LATEST

TIMES = ("JudgedAt", "FirstSeen", "FoldedAt", "ReceivedAt", "At", "Hour", "StoredAt", "StoredBy")
"""Columns that tell when something was stored, by one clock or another."""

COMPARED: Mapping[str, str] = {
    "spans": "FROM spans FINAL",
    "logs": "FROM logs FINAL",
    "traces": "FROM traces FINAL",
    "findings": "FROM findings FINAL WHERE State IN ('current', 'provisional')",
    "errors": "FROM errors FINAL",
    "run_facts": "FROM run_facts FINAL",
    "verdicts": "FROM verdicts FINAL",
    "judgements": f"FROM (SELECT * FROM judgements FINAL {LATEST})",
}
"""What follows from spans, by table: what stands of it, and each judge's last word on each subject."""


@contextmanager
def processes(folder: Path, count: int, config: StoreConfig | None = None) -> Iterator[list[SharedStore]]:
    """A migrated store, opened as so many processes would open it, over a server with the engine in `folder`."""
    with clickhouse_server(folder) as server, ExitStack() as closing:
        dsn = f"{server.dsn}/t_{uuid.uuid4().hex}"
        stores = [SharedStore.open(dsn, config or StoreConfig(dsn=dsn, retention_days=None)) for _ in range(count)]
        for store in stores:
            closing.callback(store.close)
        migrate(stores[0])
        closing.callback(stores[0].drop_database)
        yield stores


@contextmanager
def before_statement(store: SharedStore, number: int, run: Callable[[], None]) -> Iterator[list[int]]:
    """Run something before the statement of that number, from 0; gives how many there were."""
    counted = [0]

    def counting(call: Callable[..., Any]) -> Callable[..., Any]:
        def counted_call(*values: Any, **options: Any) -> Any:
            counted[0] += 1
            if counted[0] == number + 1:
                run()
            return call(*values, **options)

        return counted_call

    with pytest.MonkeyPatch.context() as patch:
        for name in ("rows", "command", "insert"):
            patch.setattr(store, name, counting(getattr(store, name)))
        yield counted


def empty(store: Store) -> None:
    """Delete all rows but those of migrations."""
    tables = "SELECT name FROM system.tables WHERE database = currentDatabase() AND total_rows > 0"
    for (name,) in store.rows(f"{tables} AND name != 'migrations'"):
        store.command(f"TRUNCATE TABLE `{name}`")


def contents(store: Store) -> list[str]:
    """The rows that stand in each table of `COMPARED`, in one order, without `TIMES`; of each row, all columns."""
    sql = (
        "SELECT table, groupArray(name) FROM system.columns WHERE database = currentDatabase() "
        "AND default_kind NOT IN ('MATERIALIZED', 'ALIAS') AND name NOT IN {times:Array(String)} GROUP BY table"
    )
    found = []
    for table, names in store.rows(sql, {"times": list(TIMES)}):
        if which := COMPARED.get(table):
            told = ", ".join(f"'{name}', toString(`{name}`)" for name in sorted(names))
            found += [f"{table} {row}" for (row,) in store.rows(f"SELECT toString(map({told})) {which}")]
    return sorted(found)


def differences(one: Store, other: Store) -> list[str]:
    """The rows that only one of two stores has; nothing where their contents are equal, byte for byte."""
    ours, theirs = contents(one), contents(other)
    return [*(f"- {row}" for row in ours if row not in theirs), *(f"+ {row}" for row in theirs if row not in ours)]
