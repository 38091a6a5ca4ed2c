"""Backups of an embedded store, in use or not: a folder each, which gets its name once it is whole.

A backup shows the store as it is between two statements, which is what `kill -9` at that moment would leave; `serve`
finishes what was under way at its start. The engine's own BACKUP reads its tables one after another, so statements that
write wait until it has listed the data parts of all of them; copying these is not waited for.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from tracejury import __version__
from tracejury.schemas.config_base import MIB
from tracejury.schemas.errors import ConfigError, RetryableError
from tracejury.schemas.text.moments import iso_time

from .backup_manifest import DATA, MANIFEST, Manifest, described
from .migrate import applied
from .shared_store import SharedStore

log = logging.getLogger(__name__)

PARTIAL: Final = ".partial-backup"
"""The end of the name of a folder whose backup is not whole yet, or is being deleted."""

_NAME: Final = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,99}}(?<!{re.escape(PARTIAL)})\Z")
_POLL_SECONDS: Final = 0.005
_GATE_SECONDS: Final = 1.0
"""For how long spans may have to wait for a long statement; then they pass, and it is tried again."""
_MOST_POLL_SECONDS: Final = 0.25
"""Between questions while files are copied: each of them takes milliseconds from the collector."""
_BUSY_RETRY_SECONDS: Final = 60.0

_BYTES: Final = "SELECT sum(bytes_on_disk) FROM system.parts WHERE database = currentDatabase() AND active"
_STATE: Final = "SELECT toString(status), num_files, error FROM system.backups WHERE id = {id:String}"
_RUNNING: Final = "CREATING_BACKUP"
_MADE: Final = "BACKUP_CREATED"


@dataclass(frozen=True, slots=True)
class MadeBackup:
    """A whole backup. `paused`: seconds for which writing waited."""

    name: str
    folder: Path
    made_at: str
    bytes: int
    seconds: float
    paused: float


class Backups:
    """Makes backups of a store in one folder, one at a time. Any thread."""

    def __init__(self, store: SharedStore, spare_bytes: int = 0, clock: Callable[[], int] = time.time_ns) -> None:
        """`spare_bytes`: what a backup must leave free on its disk; `clock`: unix nanos."""
        self._store, self._spare, self._clock = store, spare_bytes, clock
        config = store.config
        self._folder = Path(config.backups).resolve() if config.backups else store.data_folder / "backups"
        self._most = config.keep_backups
        self._stopping = threading.Event()

    async def stop(self, _deadline: float = 0.0) -> None:
        """Give up a backup under way: what was copied of it is deleted."""
        self._stopping.set()

    def make(self, name: str = "") -> MadeBackup:
        """Make a backup, by default named by the time; blocks until it is whole.

        Raises:
            ConfigError: the name is taken or no plain name, the folder cannot be used, or the store is on a server.
            RetryableError: not enough disk, another backup is being made, or a passing failure; nothing is left of it.
        """
        name = name or self._unused_name()
        if not self._store.embedded:
            everywhere = f" {self._store.cluster.clause}" if self._store.cluster else ""
            raise ConfigError(
                f"the store {self._store.target.shown} is on a server, which makes its own backups; run there: BACKUP "
                f"DATABASE `{self._store.database}`{everywhere} TO Disk('backups', '{name[:100]}') (docs/backup.md)"
            )
        if not _NAME.match(name):
            raise ConfigError(
                f"{name[:100]!r} cannot name a backup: use up to 100 letters, digits, dots, - and _, no dot first"
            )
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with FileLock(self._folder / ".lock", timeout=0):
                return self._make(name)
        except Timeout:
            raise RetryableError(
                f"another backup is being made in {self._folder}: try again later", retry_after=_BUSY_RETRY_SECONDS
            ) from None
        except OSError as error:
            raise RetryableError(f"the backup {name} failed in {self._folder}: {error.strerror}") from error

    def _unused_name(self) -> str:
        stamp = datetime.fromtimestamp(self._clock() / 1e9, UTC).strftime("%Y%m%dT%H%M%SZ")
        names = (f"{stamp}-{number}" if number else stamp for number in count())
        return next(name for name in names if not (self._folder / name).exists())

    def _make(self, name: str) -> MadeBackup:
        target, draft = self._folder / name, self._folder / f"{name}{PARTIAL}"
        if target.exists():
            raise ConfigError(f"there is a backup {target} already: choose another name")
        for left in self._folder.glob(f"*{PARTIAL}"):  # of a process that was killed
            shutil.rmtree(left)
        self._check_room()
        began = time.monotonic()
        try:
            draft.mkdir(mode=0o700)
            made_at, paused = self._copy(draft / DATA)
            manifest = Manifest(
                tracejury=__version__,
                made_at=made_at,
                database=self._store.database,
                migrations=applied(self._store),
                files=described(draft),
            )
            manifest.write(draft)
            os.sync()
            draft.rename(target)
        except BaseException as error:
            shutil.rmtree(draft, ignore_errors=True)
            log.info("the backup %s was not made: %s", name, error)
            raise
        made = MadeBackup(name, target, made_at, manifest.size, time.monotonic() - began, paused)
        log.info("made the backup %s: %d MiB in %.1f s", target, made.bytes // MIB, made.seconds)
        self._drop_oldest()
        return made

    def _check_room(self) -> None:
        needed, free = int(self._store.rows(_BYTES)[0][0]), shutil.disk_usage(self._folder).free
        if free < needed + self._spare:
            raise RetryableError(
                f"too little disk for a backup of {needed // MIB} MiB: {free // MIB} MiB are free in {self._folder}, "
                f"{self._spare // MIB} of which must stay free (writer.min_free_bytes)",
                retry_after=_BUSY_RETRY_SECONDS,
            )

    def _copy(self, data: Path) -> tuple[str, float]:
        """Copy all tables; returns the moment that the copy shows, and the seconds for which writing waited."""
        path = str(data).replace("\\", "\\\\").replace("'", "\\'")
        with self._no_deletion():
            began, made_at = time.monotonic(), iso_time(self._clock()) or ""
            sql = f"BACKUP DATABASE `{self._store.database}` TO File('{path}') ASYNC"
            backup_id = self._store.rows(sql)[0][0]
            # The first file is copied once all parts are listed.
            self._wait(backup_id, lambda files: files > 0, _POLL_SECONDS)
            paused = time.monotonic() - began
        self._wait(backup_id, lambda _: False, _MOST_POLL_SECONDS)
        return made_at, paused

    @contextmanager
    def _no_deletion(self) -> Iterator[None]:
        """The gate closed while no deletion is half done: it would be finished by nobody in a restored store."""
        deleting, gate = self._store.deletions.under_way, self._store.write_gate
        while True:
            while deleting():
                self._pause()
            if not gate.close(_GATE_SECONDS):
                self._pause(_GATE_SECONDS)
                continue
            try:
                if not deleting():
                    yield
                    return
            finally:
                gate.open()

    def _wait(self, backup_id: str, is_enough: Callable[[int], bool], most: float) -> None:
        seconds = _POLL_SECONDS
        while True:
            status, files, error = self._store.rows(_STATE, {"id": backup_id})[0]
            if status == _MADE or (status == _RUNNING and is_enough(files)):
                return
            if status != _RUNNING:
                reason = error.partition(", Stack trace")[0].splitlines()
                raise RetryableError(f"the backup failed: {reason[0][:300] if reason else status}")
            self._pause(seconds)
            seconds = min(2 * seconds, most)

    def _pause(self, seconds: float = _POLL_SECONDS) -> None:
        if self._stopping.wait(seconds):
            raise RetryableError("the collector is stopping: no backup was made")

    def _drop_oldest(self) -> None:
        if self._most is None:
            return
        whole = sorted(self._folder.glob(f"*/{MANIFEST}"), key=lambda file: file.stat().st_mtime_ns, reverse=True)
        for manifest in whole[self._most :]:
            old = manifest.parent
            shutil.rmtree(old.rename(old.with_name(f"{old.name}{PARTIAL}")))
