"""What the commands about labels share: who labels, and how labels show."""

from __future__ import annotations

import getpass
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from .options import Decorator

if TYPE_CHECKING:
    from rich.console import RenderableType


def _login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # no such user in this container, and no variable that names one
        return ""


as_option: Decorator = click.option(
    "--as",
    "annotator",
    default=_login,
    envvar="TRACEJURY_ANNOTATOR",
    metavar="NAME",
    help="Who says so; the login name by default.",
)


def show(rows: Any, table: Callable[[Any], RenderableType], style: str) -> None:
    """Rows of the API for programs or, as `table`, for people."""
    from . import output

    if style == "json":
        output.show_json(rows)
    else:
        output.show(table(rows))
