"""Backups of a real engine: what they hold, and that half of one is none."""

from __future__ import annotations

import asyncio
import os
import re
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from clickhouse_http import clickhouse_server
from filelock import FileLock
from store_parts import a_finding, a_judged_trace, a_span

from tracejury.collector.store.backup import PARTIAL, Backups
from tracejury.collector.store.backup_manifest import DATA, MANIFEST, Manifest
from tracejury.collector.store.cluster import Cluster
from tracejury.collector.store.config import StoreConfig
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.migrate import migrate, migrations
from tracejury.collector.store.parts import active_parts
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.errors import ConfigError, RetryableError
from tracejury.schemas.rows import SPAN_COLUMNS, span_columns

NOW = 1_795_000_000 * 10**9
"""2026-11-18T11:06:40Z."""


@pytest.fixture
def kept(store_dsn: str, tmp_path: Path) -> Iterator[SharedStore]:
    """A store with a span, whose backups are in `tmp_path`, the latest two."""
    with keeping(store_dsn, tmp_path) as store:
        yield store


@contextmanager
def keeping(dsn: str, folder: Path) -> Iterator[SharedStore]:
    config = StoreConfig(dsn=dsn, retention_days=None, backups=str(folder / "backups"), keep_backups=2)
    store = SharedStore.open(dsn, config)
    migrate(store)
    add_span(store, 1)
    yield store
    store.close()


def add_span(store: SharedStore, number: int) -> None:
    span = a_span(trace_id=f"{number:032x}")
    store.insert("spans", SPAN_COLUMNS, span_columns([span], NOW))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != ".lock")


def restored(store: SharedStore, folder: Path, name: str) -> str:
    """The database of a backup, restored beside the store."""
    database = f"{store.database}_{name}"
    store.rows(f"RESTORE DATABASE `{store.database}` AS `{database}` FROM File('{folder / DATA}')")
    return database


def test_a_whole_backup(kept: SharedStore, tmp_path: Path) -> None:
    """It is named by the time, holds a manifest of all its files, and is its own user's alone."""
    made = Backups(kept, clock=lambda: NOW).make()
    assert (made.name, made.made_at) == ("20261118T110640Z", "2026-11-18T11:06:40.000000Z")
    assert made.folder == tmp_path / "backups" / made.name
    assert stat.S_IMODE(made.folder.stat().st_mode) == stat.S_IMODE(made.folder.parent.stat().st_mode) == 0o700
    manifest = Manifest.read(made.folder)
    manifest.verify(made.folder)
    assert manifest.size == made.bytes > 0
    assert set(manifest.migrations) == {one.name for one in migrations()}
    assert Backups(kept, clock=lambda: NOW).make().name == f"{made.name}-1"
    assert names(tmp_path / "backups") == [made.name, f"{made.name}-1"]


def test_only_a_plain_name(kept: SharedStore, tmp_path: Path) -> None:
    """No path comes from whoever asks; without a name it is the time."""
    for name in ("../x", "a/b", ".hidden", "x" * 101, "..", f"x{PARTIAL}", "-x", "a\n", "ä", "x;y"):
        with pytest.raises(ConfigError, match="cannot name a backup"):
            Backups(kept).make(name)
    assert not (tmp_path / "backups").exists()
    assert re.fullmatch(r"\d{8}T\d{6}Z", Backups(kept).make("").name)


def test_a_name_that_is_taken(kept: SharedStore) -> None:
    """What is there stays as it is."""
    made = Backups(kept).make("before-0.2")
    add_span(kept, 2)
    with pytest.raises(ConfigError, match=r"before-0\.2 already: choose another name"):
        Backups(kept).make("before-0.2")
    Manifest.read(made.folder).verify(made.folder)


def test_too_little_disk(kept: SharedStore, tmp_path: Path) -> None:
    """It is said before anything is copied."""
    with pytest.raises(RetryableError, match=r"too little disk for a backup of .* must stay free"):
        Backups(kept, spare_bytes=1 << 62).make("big")
    assert names(tmp_path / "backups") == []


def test_one_at_a_time(kept: SharedStore, tmp_path: Path) -> None:
    """Also where two processes share the folder."""
    Backups(kept).make("first")
    with FileLock(tmp_path / "backups" / ".lock"), pytest.raises(RetryableError, match="another backup is being made"):
        Backups(kept).make("second")


def test_a_server_makes_its_own(store_folder: Path, kept: SharedStore) -> None:
    """The refusal has the statement to run there."""
    with clickhouse_server(store_folder) as server:
        remote = SharedStore.open(f"{server.dsn}/{kept.database}")
        with pytest.raises(ConfigError, match=rf"BACKUP DATABASE `{kept.database}` TO Disk\('backups', 'monday'\)"):
            Backups(remote).make("monday")
        remote.cluster = Cluster("two", kept.database)
        with pytest.raises(ConfigError, match=rf"BACKUP DATABASE `{kept.database}` ON CLUSTER `two` TO Disk"):
            Backups(remote).make("monday")
        remote.close()


def test_a_part_that_cannot_be_read(new_dsn: str, tmp_path: Path) -> None:
    """One line, nothing is left of it, and writing goes on."""
    with keeping(new_dsn, tmp_path) as store:
        (part,) = (part for part in active_parts(store) if part.table == "spans")
        for file in Path(part.path).iterdir():
            file.unlink()
        with pytest.raises(RetryableError, match=r"\Athe backup failed: [^\n]+\Z"):
            Backups(store).make("broken")
        assert names(tmp_path / "backups") == []
        add_span(store, 2)


def test_what_a_killed_process_left_goes(kept: SharedStore, tmp_path: Path) -> None:
    """With the next backup; before, it is no backup either."""
    left = tmp_path / "backups" / f"old{PARTIAL}"
    (left / DATA).mkdir(parents=True)
    with pytest.raises(ConfigError, match="no whole backup"):
        Manifest.read(left)
    Backups(kept).make("new")
    assert names(tmp_path / "backups") == ["new"]


def test_the_oldest_go(kept: SharedStore, tmp_path: Path) -> None:
    """Of whole ones `keep_backups` stay; what is no backup stays, too."""
    (tmp_path / "backups" / "notes").mkdir(parents=True)
    for number in range(4):
        made = Backups(kept).make(f"b{number}")
        file = made.folder / MANIFEST
        at = NOW + number
        os.utime(file, ns=(at, at))
    assert names(tmp_path / "backups") == ["b2", "b3", "notes"]


def test_it_waits_for_a_deletion(kept: SharedStore, tmp_path: Path) -> None:
    """A deletion that is half done would be finished by nobody once it is restored."""
    key = ("", f"{1:032x}")
    kept.deletions.hold([key], NOW)
    thread = threading.Thread(target=Backups(kept).make, args=("later",))
    thread.start()
    draft = tmp_path / "backups" / f"later{PARTIAL}"
    while not draft.exists():
        time.sleep(0.001)
    kept.command("DELETE FROM spans WHERE 1")  # a statement of the deletion passes meanwhile
    assert not (draft / DATA).exists()
    kept.deletions.let_go([key])
    thread.join()
    database = restored(kept, tmp_path / "backups" / "later", "later")
    assert kept.rows(f"SELECT count() FROM `{database}`.spans") == [(0,)]
    kept.command(f"DROP DATABASE `{database}` SYNC")


def test_stopped_under_way(kept: SharedStore, tmp_path: Path) -> None:
    """A collector that stops waits for no backup; nothing is left of it."""
    kept.deletions.hold([("", "1" * 32)], NOW)
    backups, errors = Backups(kept), list[Exception]()

    def make() -> None:
        try:
            backups.make("never")
        except RetryableError as error:
            errors.append(error)

    thread = threading.Thread(target=make)
    thread.start()
    while not (tmp_path / "backups" / f"never{PARTIAL}").exists():
        time.sleep(0.001)
    asyncio.run(backups.stop())
    thread.join()
    assert "is stopping" in str(errors[0])
    assert names(tmp_path / "backups") == []


def test_writing_waits_until_all_parts_are_listed(kept: SharedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """And no longer: it goes on while they are copied."""
    asked, rows = list[tuple[str, bool]](), kept.rows

    def watched(sql: str, *args: Any) -> Any:
        found = rows(sql, *args)
        asked.append(
            (sql.split(maxsplit=1)[0] if "system.backups" not in sql else str(found[0][:2]), kept.write_gate._closed)
        )
        return found

    monkeypatch.setattr(kept, "rows", watched)
    Backups(kept).make()
    assert ("BACKUP", True) in asked
    assert all(closed for state, closed in asked if state == "('CREATING_BACKUP', 0)")
    states = [(state, closed) for state, closed in asked if state.startswith("(")]
    assert not states[-1][1]


def test_one_moment_of_all_tables(kept: SharedStore) -> None:
    """A trace whose judgement is in a backup has its findings there, however fast others are stored meanwhile."""
    ends, stored = threading.Event(), 0

    def judge() -> None:
        nonlocal stored
        judging = StoredJudging(kept)
        while not ends.is_set():
            trace_id = f"{stored + 1:032x}"
            judging.save([a_judged_trace(a_finding(trace_id=trace_id), trace_id=trace_id)])
            stored += 1

    thread = threading.Thread(target=judge)
    thread.start()
    try:
        for number in range(4):
            before = stored
            made = Backups(kept).make(f"b{number}")
            database = restored(kept, made.folder, made.name)
            judged = f"SELECT TraceId FROM `{database}`.judgements"
            missing = f"{judged} WHERE TraceId NOT IN (SELECT TraceId FROM `{database}`.findings)"
            assert kept.rows(missing) == []
            assert kept.rows(f"SELECT count() FROM ({judged})")[0][0] >= before
            kept.command(f"DROP DATABASE `{database}` SYNC")
    finally:
        ends.set()
        thread.join()


@pytest.mark.parametrize("harm", ["changed", "missing", "cut manifest", "no manifest", "other format", "climbing"])
def test_a_damaged_backup(kept: SharedStore, harm: str) -> None:
    """Each is refused in one line, before anything is restored."""
    folder = Backups(kept).make("hurt").folder
    manifest = Manifest.read(folder)
    file = folder / DATA / next(name for name in manifest.files if name.endswith((".bin", ".packed")))
    text = (folder / MANIFEST).read_text()
    if harm == "changed":
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.write_bytes(content)
    elif harm == "missing":
        file.unlink()
    elif harm == "cut manifest":
        (folder / MANIFEST).write_text(text[: len(text) // 2])
    elif harm == "no manifest":
        (folder / MANIFEST).unlink()
    elif harm == "other format":
        (folder / MANIFEST).write_text(text.replace('"format": 1', '"format": 2'))
    else:
        (folder.parent / "secret").write_text("")
        climbing = manifest.model_copy(
            update={"files": {"../../secret": manifest.files[file.relative_to(folder / DATA).as_posix()]}}
        )
        climbing.write(folder)
    with pytest.raises(ConfigError, match=r"\A[^\n]*(no whole backup|damaged)[^\n]*\Z"):
        Manifest.read(folder).verify(folder)
