"""`tracejury talk draft CARDS`."""

from __future__ import annotations

from typing import Any

import click

from tracejury.collector.cli.talk_writing import write_turns, writing_options


@click.command("draft")
@click.option(
    "--turns",
    type=click.IntRange(1, 3),
    default=None,
    help="Turns of each task, at most one a step (default: one for every two steps, up to 3).",
)
@writing_options
def draft_command(*, turns: int | None, **given: Any) -> None:
    """Have a model write what an ideal user says, one turn for each part of the oracle's steps."""
    write_turns("draft", {"turns": turns}, **given)
