"""Restoring a backup to a new folder: it gets its name once the store in it is whole."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote

from tracejury.schemas.config_base import MIB
from tracejury.schemas.errors import ConfigError

from . import folder_lock
from .backup_manifest import DATA, Manifest
from .client import Store
from .config import StoreConfig
from .dsn import parse_dsn
from .migrate import check_known
from .opening import apply_settings
from .parts import record_of

RESTORING: Final = ".restoring"
"""The end of the name of a folder that is being restored."""


def restore(source: Path, dsn: str) -> Manifest:
    """Restore the backup `source` as the embedded store `dsn`, whose folder must be new or empty; blocks.

    Raises:
        ConfigError: the backup is not whole or of a newer version; the folder is in use, holds something or has too
            little disk; the store is on a server.
        RetryableError, StoreError: the engine failed.
        OSError: the disk failed. Whatever is raised, nothing is restored.
    """
    target = parse_dsn(dsn)
    if target.path is None:
        raise ConfigError(
            f"the store {target.shown} is on a server, which restores its own backups; run there: "
            f"RESTORE DATABASE `{target.database}` FROM Disk('backups', 'NAME') (docs/backup.md)"
        )
    folder = Path(target.path)
    manifest = Manifest.read(source)
    check_known(manifest.migrations, what=f"the backup {source}")
    with _new_folder(folder, manifest.size) as draft:
        manifest.verify(source)
        place = f"chdb://{quote(str(draft))}?database={target.database}"
        store = Store.open(place, StoreConfig(dsn=place, retention_days=None))
        try:
            _fill(store, manifest.database, source.resolve() / DATA)
        finally:
            store.close()
        os.sync()
        # That of a store that was here before: it would say that all of its data parts are lost.
        record_of(folder, target.database).unlink(missing_ok=True)
    return manifest


def _fill(store: Store, database: str, data: Path) -> None:
    path = str(data).replace("\\", "\\\\").replace("'", "\\'")
    store.create_database()
    store.command("SYSTEM STOP TTL MERGES")
    store.command(f"RESTORE DATABASE `{database}` AS `{store.database}` FROM File('{path}')")
    apply_settings(store)  # without retention: `serve` sets its own, and until then nothing expires


@contextmanager
def _new_folder(folder: Path, size: int) -> Iterator[Path]:
    """A draft beside `folder`, which takes its place at the end; nobody opens `folder` meanwhile."""
    lock = folder_lock.acquire(str(folder))
    draft = folder.with_name(f"{folder.name}{RESTORING}")
    try:
        if any(folder.iterdir()):
            raise ConfigError(
                f"the folder {folder} is not empty, and a backup is restored to a new one only: move it away, or name "
                "another with --store"
            )
        shutil.rmtree(draft, ignore_errors=True)  # of a process that was killed
        if (free := shutil.disk_usage(folder).free) < size:
            raise ConfigError(f"too little disk for {size // MIB} MiB: {free // MIB} MiB are free in {folder}")
        yield draft
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        folder_lock.lock_file(str(draft)).unlink(missing_ok=True)
        folder_lock.release(lock)
