"""Processes of different versions or configurations side by side on one server."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest
from judging_bench import KEY, Bench, Booms, span
from several import processes
from store_parts import a_span

from tracejury.collector.store.configurations import DETECTORS, latest_detectors, note_configuration
from tracejury.collector.store.migrate import Migration, ensure, migrate, migrations
from tracejury.judges.base import Context
from tracejury.judges.suite import Suite
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.findings import Draft, FindingState
from tracejury.schemas.rows import SPAN_COLUMNS, span_columns
from tracejury.schemas.trajectory import Trace


@dataclass(frozen=True, slots=True)
class NoBooms(Booms):
    """The next version of the detector, which finds nothing."""

    version: int = 2

    def detect(self, trace: Trace, ctx: Context) -> Iterable[Draft]:  # noqa: ARG002  the protocol's signature
        """Nothing."""
        return ()


def test_an_older_version_goes_on_beside_a_newer_store(store_folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """One line says so; what was changed for good stops it."""
    added = Migration("9998_next.sql", "ALTER TABLE spans ADD COLUMN IF NOT EXISTS Next String DEFAULT 'x'")
    breaking = Migration("9999_breaking_next.sql", "SELECT 1")
    with processes(store_folder, 1) as (store,):
        migrate(store, (*migrations(), added))
        with caplog.at_level(logging.WARNING):
            assert ensure(store) == ensure(store, allowed=True) == ()
        assert [record.message for record in caplog.records] == [
            "the store is of a newer version (9998_next.sql), beside which this one goes on"
        ]
        store.insert("spans", SPAN_COLUMNS, span_columns([a_span()], 1))
        assert store.rows("SELECT Next FROM spans") == [("x",)]
        migrate(store, (*migrations(), added, breaking))
        with pytest.raises(ConfigError, match=r"9999_breaking_next\.sql, which this version does not know"):
            ensure(store)


def test_what_the_later_configuration_found_stands(store_folder: Path, tmp_path: Path) -> None:
    """Whichever judges the same content last; new content is judged by whoever has it. The difference is told once."""
    with processes(store_folder, 2) as stores:
        older, newer = (
            Bench(store, Suite([rule]), dead_letters=tmp_path)
            for store, rule in zip(stores, (Booms(), NoBooms()), strict=True)
        )
        parts = [{DETECTORS: bench.judging.version, "judges": "same"} for bench in (older, newer)]
        assert note_configuration(stores[0], parts[0], 1) == note_configuration(stores[1], parts[0], 2) == ""
        told = note_configuration(stores[1], parts[1], 3)
        assert told.startswith("this process judges otherwise than ")
        assert "since 1970-01-01" in told
        assert ": detectors differ; " in told
        assert latest_detectors(stores[0]) == newer.judging.version
        older.commit(span("1", output="boom"))
        older.wait(20)
        assert [*older.states().values()] == [FindingState.CURRENT]
        newer.now = older.now
        for bench in (newer, older, newer, older, older):
            bench.inbox.ask([KEY])
            bench.wait(20)
            assert [*older.states().values()] == [FindingState.RETRACTED]
        older.commit(span("2", parent="1", output="boom"))
        older.wait(20)
        assert [*older.states().values()] == [FindingState.CURRENT] * 2
