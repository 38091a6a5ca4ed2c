"""Damaged data parts of a real engine: found, saved as far as they can be read, or given up."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from store_parts import a_judged_trace, a_span

from tracejury.collector.store.config import StoreConfig
from tracejury.collector.store.damage import detached_parts, lost_spans
from tracejury.collector.store.give_up import give_up
from tracejury.collector.store.health import StoreHealth
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.lists import TraceLists
from tracejury.collector.store.migrate import migrate
from tracejury.collector.store.parts import active_parts, partition_of, record_file
from tracejury.collector.store.repair import Repaired, damaged_parts, repair
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.store.trace_deleter import TraceDeleter
from tracejury.schemas.errors import StoreError
from tracejury.schemas.queries.reader import Confidence, TraceQuery
from tracejury.schemas.rows import SPAN_COLUMNS, span_columns

SPANS = 3000
"""Three granules."""
MONDAY = 1_704_067_200
"""2024-01-01, in seconds: the week of a partition of its own."""
ALL = TraceQuery(Confidence(0.0, 0.0), 10)


ONE_FILE, MANY_FILES = 1 << 25, 0
"""`min_bytes_for_full_part_storage`: small parts are one file; those above it, as parts of older stores, are many."""


@pytest.fixture(scope="module")
def database(store_folder: Path) -> Iterator[tuple[str, str]]:
    """The DSN of a database of its own, and the statement that makes its table of spans."""
    dsn = f"chdb://{store_folder}?database=damaged"
    store = SharedStore.open(dsn, StoreConfig(retention_days=None))
    migrate(store)
    statement = store.rows("SELECT create_table_query FROM system.tables WHERE database = 'damaged' AND name = 'spans'")
    store.close()
    yield dsn, statement[0][0]
    store = SharedStore.open(dsn, StoreConfig(retention_days=None))
    store.drop_database()
    store.close()


@pytest.fixture(params=[ONE_FILE, MANY_FILES], ids=["one file", "many files"])
def store(database: tuple[str, str], request: pytest.FixtureRequest) -> Iterator[SharedStore]:
    """With two parts of spans, each of one trace; merges are off, so they stay."""
    dsn, statement = database
    store = SharedStore.open(dsn, StoreConfig(retention_days=None))
    store.command("DROP TABLE spans SYNC")
    for (table,) in store.rows("SELECT name FROM system.tables WHERE database = 'damaged' AND total_rows > 0"):
        if table != "migrations":
            store.command(f"TRUNCATE TABLE {table}")
    store.command(statement)
    store.command(f"ALTER TABLE spans MODIFY SETTING min_bytes_for_full_part_storage = {request.param}")
    store.command("SYSTEM STOP MERGES spans")
    for trace in (1, 2):
        spans = [a_span(trace_id=trace_id(trace), span_id=f"{n:016x}") for n in range(SPANS)]
        store.insert("spans", SPAN_COLUMNS, span_columns(spans, time.time_ns()))
    yield store
    if (record := record_file(store)) is not None:
        record.unlink(missing_ok=True)
    store.close()


def trace_id(number: int) -> str:
    return f"{number:032x}"


def folders(store: SharedStore) -> list[Path]:
    """Of the parts of spans, the first trace's first."""
    return sorted(Path(part.path) for part in active_parts(store) if part.table == "spans")


def set_aside(store: SharedStore, folder: Path) -> Path:
    """As the engine does at its start with a part that it cannot load."""
    aside = folder.parent / "detached" / f"broken-on-start_{folder.name}"
    shutil.copytree(folder, aside)
    store.command(f"ALTER TABLE spans DROP PART '{folder.name}'")
    return aside


def flip(folder: Path) -> None:
    """Change the byte in the middle of a part's data."""
    (file,) = (*folder.glob("data.packed"), *folder.glob("data.bin"))
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    file.write_bytes(data)


def count(store: SharedStore) -> int:
    return int(store.rows("SELECT count() FROM spans")[0][0])


def test_whole_store(store: SharedStore) -> None:
    """Nothing is wrong with it."""
    health = StoreHealth(store)
    assert (health.look(), health.problems(), store.is_incomplete) == ([], (), False)
    assert damaged_parts(store) == []
    assert list(repair(store, {})) == []


@pytest.mark.parametrize("store", [MANY_FILES], indirect=True)
def test_row_count_that_is_gone(store: SharedStore) -> None:
    """A part without its count is attached again, with the count that was recorded; all rows are back."""
    StoreHealth(store).look()
    folder = folders(store)[0]
    (set_aside(store, folder) / "count.txt").write_text("")
    health = StoreHealth(store)
    (problem,) = health.look()
    aside = f"broken-on-start_{folder.name}"
    assert problem == f"spans: the data part {folder.name} ({SPANS} rows) was damaged and set aside as {aside}"
    assert store.is_incomplete
    (repaired,) = repair(store, health.known_rows())
    assert repaired == Repaired("spans", folder.name, SPANS, 0)
    health.note(repaired.table, repaired.part, repaired.lost)
    assert (health.look(), health.problems(), store.is_incomplete) == ([], (), False)
    assert (count(store), detached_parts(store)) == (2 * SPANS, [])


@pytest.mark.parametrize("store", [ONE_FILE], indirect=True)
def test_single_file_that_is_cut_off(store: SharedStore) -> None:
    """Nothing of it can be attached: the other part stays, and the loss is told."""
    StoreHealth(store).look()
    folder = folders(store)[0]
    with (set_aside(store, folder) / "data.packed").open("r+b") as file:
        file.truncate(1000)
    health = StoreHealth(store)
    assert len(health.look()) == 1
    assert list(repair(store, health.known_rows())) == [Repaired("spans", folder.name, 0, SPANS)]
    assert (count(store), store.is_incomplete) == (SPANS, True)


def test_part_in_use_that_cannot_be_read(store: SharedStore) -> None:
    """Its readable granules are saved, and the rest is given up by itself only."""
    folder = folders(store)[0]
    flip(folder)
    with pytest.raises(StoreError, match=f"the data part {folder.name} is damaged.*tracejury store check"):
        store.rows("SELECT * FROM spans")
    assert any(f"the data part {folder.name} is damaged" in problem for problem in StoreHealth(store).problems())
    assert damaged_parts(store) == [("spans", folder.name, SPANS)]
    (repaired,) = repair(store, {})
    assert repaired.saved + (repaired.lost or 0) == SPANS
    assert 0 < repaired.saved < SPANS
    assert count(store) == SPANS + repaired.saved
    assert len(store.rows("SELECT * FROM spans")) == count(store)
    assert damaged_parts(store) == []


def test_part_that_can_be_read_again(store: SharedStore) -> None:
    """It is named until a check has read it; checks pause in proportion to the time that they take."""
    folder, now = folders(store)[0], [0.0]
    flip(folder)
    with pytest.raises(StoreError):
        store.rows("SELECT * FROM spans")
    health = StoreHealth(store, lambda: now[0])
    health.look()
    assert len(health.problems()) == 1
    flip(folder)
    health._recheck_at = 10.0
    health.look()
    assert len(health.problems()) == 1
    now[0] = 10.0
    health.look()
    assert health.problems() == ()


def test_unreadable_part_that_was_repaired_is_forgotten(store: SharedStore) -> None:
    """A part that is no longer in use is not read, and nobody is told of it."""
    folder = folders(store)[0]
    flip(folder)
    health = StoreHealth(store)
    assert len(list(repair(store, {}))) == 1
    assert [folder.name in problem for problem in health.problems()] == [True]
    health.note("spans", folder.name, 0)
    health.look()
    assert health.problems() == ()


def test_part_that_is_gone(store: SharedStore) -> None:
    """The next process misses it, says so at each start, and forgets it once it is given up."""
    StoreHealth(store).look()
    folder = folders(store)[1]
    store.command(f"ALTER TABLE spans DROP PART '{folder.name}'")  # of which no record tells
    for _ in range(2):
        health = StoreHealth(store)
        assert health.look() == [f"spans: the data part {folder.name} ({SPANS} rows) is gone"]
        assert health.look() == []
        assert health.problems()
    health.forget()
    assert health.look() == []
    assert StoreHealth(store).look() == []


def test_merged_parts_are_not_missed(store: SharedStore) -> None:
    """Parts that were merged since the record."""
    StoreHealth(store).look()
    store.command("SYSTEM START MERGES spans")
    store.command("OPTIMIZE TABLE spans FINAL")
    assert len(folders(store)) == 1
    assert StoreHealth(store).look() == []


def test_emptied_parts_are_not_missed(store: SharedStore) -> None:
    """All rows of a week were deleted since the record, and the engine merged what is left to a part without rows."""
    StoreHealth(store).look()
    store.command("SYSTEM START MERGES spans")
    TraceDeleter(store).delete([trace_id(1), trace_id(2)], time.time_ns())
    store.command("OPTIMIZE TABLE spans FINAL")
    assert folders(store) == []
    assert StoreHealth(store).look() == []


def test_parts_that_a_deletion_emptied_are_not_recorded(store: SharedStore) -> None:
    """They may go at any time from then on, without a further record; the other parts are missed as ever."""
    old = a_span(trace_id=trace_id(3))
    store.insert("spans", SPAN_COLUMNS, span_columns([old], MONDAY * 10**9))
    health = StoreHealth(store)
    health.look()
    store.command("SYSTEM START MERGES spans")
    TraceDeleter(store).delete([trace_id(3)], time.time_ns())
    health.record()
    store.command("ALTER TABLE spans DROP PARTITION ID '20240101'")
    assert StoreHealth(store).look() == []
    (week,) = {partition_of(folder.name) for folder in folders(store)}
    store.command(f"ALTER TABLE spans DROP PARTITION ID '{week}'")
    problems = StoreHealth(store).look()
    assert problems
    assert all(problem.startswith(f"spans: the data part {week}_") for problem in problems)


def test_folder_that_is_gone(store: SharedStore) -> None:
    """It is missed while the engine still counts the part as its own."""
    folder = folders(store)[0]
    shutil.move(folder, moved := folder.parent / "moved")
    health = StoreHealth(store)
    assert health.look() == [f"spans: the folder of the data part {folder.name} ({SPANS} rows) is gone"]
    shutil.move(moved, folder)


def test_lost_traces(store: SharedStore) -> None:
    """A trace without any span is in no list while rows are lost, and in no table once they are given up."""
    judging = StoredJudging(store)
    for number in (1, 2):
        judging.save([a_judged_trace(trace_id=trace_id(number))])
    store.command("ALTER TABLE traces UPDATE Spans = {n:UInt32} WHERE 1 SETTINGS mutations_sync = 2", {"n": SPANS})
    StoreHealth(store).look()
    store.command(f"ALTER TABLE spans DROP PART '{folders(store)[0].name}'")
    health = StoreHealth(store)
    health.look()
    assert health.count_lost() == f"1 traces lost {SPANS} spans (1 of them all): {trace_id(1)}"
    assert [row.trace_id for row in TraceLists(store).find(ALL)] == [trace_id(2)]
    store.command("SYSTEM START MERGES spans")  # what deletes rows waits for them
    assert give_up(store, health.damaged_tables()) == (0, 1)
    assert lost_spans(store) == []
    assert store.rows("SELECT TraceId FROM traces") == [(trace_id(2),)]
    health.forget()
    health.look()
    assert not store.is_incomplete
    assert [row.trace_id for row in TraceLists(store).find(ALL)] == [trace_id(2)]


def test_record_is_beside_the_store(store: SharedStore) -> None:
    """A name for each database; a server has none."""
    file = record_file(store)
    assert file is not None
    assert store.folder is not None
    assert file == store.folder.parent / f"db.{store.database}.parts.json"
    StoreHealth(store).look()
    assert file.exists()
