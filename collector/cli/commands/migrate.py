"""`tracejury migrate`."""

from __future__ import annotations

import click


@click.command("migrate")
@click.option("--store", "dsn", default="chdb:///./.tracejury/db", show_default=True, metavar="DSN", help="The store.")
@click.option("--cluster", default="", metavar="NAME", help="The cluster of ClickHouse servers (store.cluster).")
@click.option("--status", "only_status", is_flag=True, help="Only say what is applied and what is pending.")
def migrate_command(*, dsn: str, cluster: str, only_status: bool) -> None:
    """Bring a store's tables up to date; safe to repeat (serve does it by itself for an embedded store)."""
    from tracejury.collector.config import load_config
    from tracejury.collector.store.client import Store
    from tracejury.collector.store.migrate import migrate, status

    store = Store.open(dsn, load_config(None, {"store": {"dsn": dsn, "cluster": cluster}}).store)
    try:
        if only_status:
            found = status(store)
            for name in found.applied:
                click.echo(f"applied  {name}")
            for migration in found.pending:
                click.echo(f"pending  {migration.name}")
            return
        done = migrate(store)
    finally:
        store.close()
    for name in done:
        click.echo(f"applied  {name}")
    if not done:
        click.echo("nothing to do: the store is up to date")
