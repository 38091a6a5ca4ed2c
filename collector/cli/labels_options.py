"""The option of the commands about labels that names who labels."""

from __future__ import annotations

import getpass

import click

from .options import Decorator


def login() -> str:
    """The name of the user of this process, "" for none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # no such user in this container, and no variable that names one
        return ""


as_option: Decorator = click.option(
    "--as",
    "annotator",
    default=login,
    envvar="TRACEJURY_ANNOTATOR",
    metavar="NAME",
    help="Who says so; the login name by default.",
)
