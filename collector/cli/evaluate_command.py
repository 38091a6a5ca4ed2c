"""`tracejury evaluate trail DIR`."""

from __future__ import annotations

from pathlib import Path

import click

from .options import format_option


@click.group("evaluate")
def evaluate_command() -> None:
    """Measure agreement with human annotations."""


@evaluate_command.command("trail")
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--profile", default="balanced", show_default=True, metavar="NAME|NUMBER", help="Which findings count.")
@click.option(
    "--protocol",
    type=click.Choice(["grpc", "http", "json", "direct"]),
    default="grpc",
    show_default=True,
    help="How the traces reach the collector; direct: judged in this process, without transport and store.",
)
@click.option("--shuffle", type=int, metavar="SEED", help="Send the spans in random order over all traces.")
@format_option
def trail(*, folder: Path, profile: str, protocol: str, shuffle: int | None, style: str) -> None:
    """Judge the traces of a TRAIL folder (traces/, annotations/) in a temporary store and score what was found."""
    from ..evaluate import as_json, as_tables, evaluate_trail
    from . import output

    with output.progress() as bar:
        task = bar.add_task("starting", total=None)
        found = evaluate_trail(
            folder,
            profile=profile,
            protocol=protocol,
            shuffle=shuffle,
            progress=lambda stage: bar.update(task, description=stage),
        )
    if style == "json":
        output.show_json(as_json(found))
    else:
        output.show(as_tables(found))
