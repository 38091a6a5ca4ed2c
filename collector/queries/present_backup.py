"""A backup as a model of the API."""

from __future__ import annotations

from ...schemas.wire.backups import BackupJson
from ...schemas.wire.base import fill
from ..store.backup import MadeBackup


def present_backup(made: MadeBackup) -> BackupJson:
    """The whole backup."""
    return fill(BackupJson, made, folder=str(made.folder))
