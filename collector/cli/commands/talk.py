"""`tracejury talk`: simulated users."""

from __future__ import annotations

import importlib
from typing import Final

import click

SUBCOMMANDS: Final = {
    "draft": "Have a model write what ideal users say.",
    "rewrite": "Have a model write what six difficult users say.",
}
"""Each with its help; module `talk_<name>.py` holds it as `<name>_command`."""


class _Talk(click.Group):
    """A group that imports a subcommand only to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        """Their names."""
        return list(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  click's signature
        """Import the subcommand of that name."""
        if cmd_name not in SUBCOMMANDS:
            return None
        command: click.Command = getattr(
            importlib.import_module(f".talk_{cmd_name}", __package__), f"{cmd_name}_command"
        )
        return command


@click.group("talk", cls=_Talk)
def talk_command() -> None:
    """Simulated users: what they say, written onto task cards."""
