"""`tracejury talk rewrite CARDS`."""

from __future__ import annotations

from typing import Any

import click

from tracejury.collector.cli.talk_writing import write_turns, writing_options


@click.command("rewrite")
@writing_options
def rewrite_command(**given: Any) -> None:
    """Have a model write the turns of an ideal user in the words of the six other users."""
    write_turns("rewrite", {}, **given)
