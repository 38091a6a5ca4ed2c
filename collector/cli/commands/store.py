"""`tracejury store`: check and repair, backup and restore."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from .store_backup import backup_command, restore_command

if TYPE_CHECKING:
    from tracejury.collector.store.shared_store import SharedStore

_dsn = click.option(
    "--store", "dsn", default="chdb:///./.tracejury/db", show_default=True, metavar="DSN", help="The store."
)


@click.group("store")
def store_command() -> None:
    """Back up a store, restore it; check and repair one that no collector uses."""


store_command.add_command(backup_command)
store_command.add_command(restore_command)


@store_command.command("check")
@_dsn
def check_command(*, dsn: str) -> None:
    """Read every data part, and list what is damaged or gone and the traces that lost spans; exits with 1 for any."""
    from tracejury.collector.store.damage import lost_spans
    from tracejury.collector.store.health import StoreHealth
    from tracejury.collector.store.repair import damaged_parts

    with _opened(dsn) as store:
        health = StoreHealth(store)
        health.look()
        found = list(health.problems())
        found += [
            f"{table}: the data part {name} ({rows} rows) is damaged" for table, name, rows in damaged_parts(store)
        ]
        lost = lost_spans(store) if found else ()
    _show(found)
    for one in lost:
        click.echo(f"trace {one.trace_id}: {one.judged - one.stored} of {one.judged} spans are lost")
    if found:
        click.echo("run `tracejury store repair` to save what can be read", err=True)
        sys.exit(1)
    click.echo("the store is complete: every data part can be read")


@store_command.command("repair")
@_dsn
@click.option("--give-up", "gives_up", is_flag=True, help="Delete what cannot be read, and traces without any span.")
def repair_command(*, dsn: str, gives_up: bool) -> None:
    """Save the readable rows of damaged data parts; exits with 1 while something is lost and not given up."""
    from tracejury.collector.store.damage import lost_spans
    from tracejury.collector.store.give_up import give_up
    from tracejury.collector.store.health import StoreHealth, lost_text
    from tracejury.collector.store.repair import repair

    with _opened(dsn) as store:
        health = StoreHealth(store)
        health.look()
        for part in repair(store, health.known_rows()):
            health.note(part.table, part.part, part.lost)
            lost = "an unknown number" if part.lost is None else part.lost
            click.echo(f"{part.table}: the data part {part.part}: {part.saved} rows saved, {lost} lost")
        if gives_up:
            parts, traces = give_up(store, health.damaged_tables())
            health.forget()
            click.echo(f"given up: {parts} data parts, {traces} traces without any span")
        health.look()
        left = [*health.problems(), lost_text(lost_spans(store))] if health.problems() else []
    _show(list(filter(None, left)))
    if left:
        click.echo("run `tracejury store repair --give-up` to go on without it", err=True)
        sys.exit(1)
    click.echo("the store is complete")


@contextmanager
def _opened(dsn: str) -> Iterator[SharedStore]:
    from tracejury.collector.store.dsn import parse_dsn
    from tracejury.collector.store.migrate import require_migrated
    from tracejury.collector.store.shared_store import SharedStore

    parse_dsn(dsn).check_folder()
    store = SharedStore.open(dsn)
    try:
        require_migrated(store)
        yield store
    finally:
        store.close()


def _show(problems: Sequence[str]) -> None:
    for problem in problems:
        click.echo(problem)
