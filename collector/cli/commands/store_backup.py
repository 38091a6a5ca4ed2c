"""`tracejury store backup` and `tracejury store restore`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from click.core import ParameterSource

from tracejury.collector.cli.options import api_options

if TYPE_CHECKING:
    from tracejury.schemas.wire.backups import BackupJson

DEFAULT_FOLDER: Final = "./.tracejury/db"
DEFAULT_STORE: Final = f"chdb:///{DEFAULT_FOLDER}"

PATIENCE: Final = 6 * 3600.0
"""Seconds for which a collector is waited for: a backup of a hundred gigabytes takes minutes."""

PRIVATE: Final = 0o077
"""The umask: what is stored is for its own user."""


@click.command("backup")
@click.argument("name", default="")
@click.option("--store", "dsn", default="", metavar="DSN", help="Back up this store, which no collector uses.")
@click.option("--folder", default="", metavar="DIR", help="With --store: where to (default: backups, beside it).")
@api_options
@click.pass_context
def backup_command(ctx: click.Context, *, name: str, dsn: str, folder: str, style: str, url: str) -> None:
    """Have the running collector make a backup, on its machine; NAME is by default the time.

    It goes on taking spans meanwhile. Where backups are is its configuration (store.backups). Without --url and a
    running collector, the store in ./.tracejury/db is backed up.
    """
    from tracejury.collector.api.client_connection import UnreachableError
    from tracejury.collector.cli import output
    from tracejury.schemas.config_base import MIB

    if folder and not dsn:
        raise click.UsageError("--folder goes with --store: a running collector has one of its own (store.backups)")
    try:
        made = _of_store(dsn, folder, name) if dsn else _of_collector(url, name)
    except UnreachableError:
        if ctx.get_parameter_source("url") is not ParameterSource.DEFAULT or not Path(DEFAULT_FOLDER).is_dir():
            raise
        made = _of_store(DEFAULT_STORE, "", name)
    if style == "json":
        output.show_json(made.model_dump())
    else:
        output.plain(f"{made.folder}: {max(made.bytes // MIB, 1)} MiB, as of {made.made_at}, in {made.seconds:.1f} s")


@click.command("restore")
@click.argument("source", type=click.Path(path_type=Path))
@click.option("--store", "dsn", default=DEFAULT_STORE, show_default=True, metavar="DSN", help="The new store.")
def restore_command(*, source: Path, dsn: str) -> None:
    """Restore the backup in the folder SOURCE to a store that does not exist yet.

    Restore only backups that you trust: the tables in it are made as it says.
    """
    from tracejury.collector.store.restore import restore

    os.umask(PRIVATE)
    manifest = restore(source, dsn)
    click.echo(f"restored to {dsn}, as of {manifest.made_at}: start the collector")


def _of_collector(url: str, name: str) -> BackupJson:
    from tracejury.collector.api.client import ApiClient

    with ApiClient(url, timeout=PATIENCE) as client:
        return client.backup(name)


def _of_store(dsn: str, folder: str, name: str) -> BackupJson:
    """Raises ConfigError: a collector uses it, or it is not there."""
    from tracejury.collector.queries.present_backup import present_backup
    from tracejury.collector.store.backup import Backups
    from tracejury.collector.store.config import StoreConfig, WriterConfig
    from tracejury.collector.store.dsn import parse_dsn
    from tracejury.collector.store.shared_store import SharedStore

    os.umask(PRIVATE)
    parse_dsn(dsn).check_folder()
    store = SharedStore.open(dsn, StoreConfig(dsn=dsn, backups=folder))
    try:
        return present_backup(Backups(store, spare_bytes=WriterConfig().min_free_bytes).make(name))
    finally:
        store.close()
