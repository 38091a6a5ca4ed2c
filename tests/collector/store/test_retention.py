"""Retention and fsync follow the configuration at every start."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import ValidationError
from store_parts import TRACE_ID, a_span

from tracejury.collector.store import opening
from tracejury.collector.store.config import MAX_RETENTION_DAYS, StoreConfig
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.rows import SPAN_COLUMNS, span_columns

DAY = 86_400_000_000_000


def engines(dsn: str, **config: object) -> dict[str, str]:
    """The engine of each table after a start with that configuration."""
    store = SharedStore.open(dsn, StoreConfig.model_validate({"dsn": dsn, **config}))
    opening.apply_settings(store)
    rows = store.rows("SELECT name, engine_full FROM system.tables WHERE database = currentDatabase() "
                      "AND engine LIKE '%MergeTree'")  # fmt: skip
    store.close()
    return {row[0]: row[1] for row in rows}


def test_retention_is_30_days_by_arrival(served_dsn: str) -> None:
    """By default every table expires 30 days after arrival, but for people's work and what belongs to the store."""
    found = engines(served_dsn)
    expiring = {
        name for name, engine in found.items() if "TTL toDateTime(ReceivedAt) + toIntervalSecond(2592000)" in engine
    }
    assert expiring == set(opening.RETAINED) == set(found) - {*opening.KEPT, "migrations"}


def test_retention_follows_the_configuration(served_dsn: str) -> None:
    """A change takes effect at the next start, and null keeps everything."""
    assert "toIntervalSecond(43200)" in engines(served_dsn, retention_days=0.5)["spans"]
    assert "toIntervalSecond(86400)" in engines(served_dsn, retention_days=1)["findings"]
    assert not [engine for engine in engines(served_dsn, retention_days=None).values() if "TTL" in engine]


def test_what_has_expired_is_dropped(served_dsn: str) -> None:
    """Rows past their retention go when parts are merged; the client's own dates do not matter."""
    store = SharedStore.open(served_dsn, StoreConfig(retention_days=2))
    opening.apply_settings(store)
    now = time.time_ns()
    for name, age in (("a", 1 * DAY), ("b", 3 * DAY), ("c", 40 * DAY)):
        store.insert("spans", SPAN_COLUMNS, span_columns([a_span(span_id=name * 16, start=0, end=0)], now - age))
    store.command("OPTIMIZE TABLE spans FINAL")
    spans, _ = StoredJudging(store).load_spans([TRACE_ID])[TRACE_ID]
    assert [s.span_id for s in spans] == ["a" * 16]
    store.close()


def test_the_longest_retention_keeps_what_arrives(served_dsn: str) -> None:
    """The engine drops at once what would expire beyond its calendar, so longer ones are refused."""
    store = SharedStore.open(served_dsn, StoreConfig(retention_days=MAX_RETENTION_DAYS))
    opening.apply_settings(store)
    store.insert("spans", SPAN_COLUMNS, span_columns([a_span()], time.time_ns()))
    store.command("OPTIMIZE TABLE spans FINAL")
    assert StoredJudging(store).load_spans([TRACE_ID]) == {TRACE_ID: ([a_span()], [])}
    store.close()
    with pytest.raises(ValidationError, match="retention_days"):
        StoreConfig(retention_days=MAX_RETENTION_DAYS + 1)


def test_fsync_follows_the_configuration(served_dsn: str) -> None:
    """On: inserts reach the disk before they return; off again: the setting is reset."""
    assert all(
        "fsync_after_insert = 1, fsync_part_directory = 1" in engine
        for table, engine in engines(served_dsn, fsync=True).items()
        if table != "migrations"
    )
    off = engines(served_dsn, fsync=False)
    assert all("fsync_after_insert = 0" in off[table] for table in (*opening.RETAINED, *opening.KEPT))


@pytest.mark.parametrize("fsync", [False, True])
def test_fsync_reaches_the_disk(served_dsn: str, *, fsync: bool) -> None:
    """With it an insert ends only after the files and the folder of its part were synced; without it none is."""
    store = SharedStore.open(served_dsn, StoreConfig(retention_days=None, fsync=fsync))
    opening.apply_settings(store)

    def syncs() -> dict[str, int]:
        rows = store.rows("SELECT event, value FROM system.events WHERE event IN ('FileSync', 'DirectorySync')")
        return {row[0]: row[1] for row in rows}

    before = syncs()
    store.insert("spans", SPAN_COLUMNS, span_columns([a_span()], 1))
    after = syncs()
    assert [after.get(e, 0) > before.get(e, 0) for e in ("FileSync", "DirectorySync")] == [fsync, fsync]
    store.close()


class Listening(SharedStore):
    """The real store; the statements that change something are noted."""

    commands: list[str]

    def command(self, sql: str, parameters: Mapping[str, Any] | None = None, *, mutated: str = "") -> None:
        self.commands.append(sql)
        super().command(sql, parameters, mutated=mutated)


@pytest.mark.parametrize("config", [{}, {"retention_days": None}, {"retention_days": 1.5, "fsync": True}])
def test_a_start_without_changes_changes_nothing(served_dsn: str, config: dict[str, Any]) -> None:
    """The same configuration again runs no statement on the tables."""
    engines(served_dsn, **config)
    store = Listening.open(served_dsn, StoreConfig.model_validate(config))
    assert isinstance(store, Listening)
    store.commands = []
    opening.apply_settings(store)
    assert store.commands == []
    store.close()
