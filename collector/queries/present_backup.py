"""A backup as a model of the API."""

from __future__ import annotations

from tracejury.collector.store.backup import MadeBackup
from tracejury.schemas.wire.backups import BackupJson
from tracejury.schemas.wire.base import fill


def present_backup(made: MadeBackup) -> BackupJson:
    """The whole backup."""
    return fill(BackupJson, made, folder=str(made.folder))
