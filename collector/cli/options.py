"""Options that several commands share."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import click

from ...schemas.text.moments import iso_time, parse_since

DEFAULT_URL = "http://127.0.0.1:8321"

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

url_option: Decorator = click.option(
    "--url", default=DEFAULT_URL, show_default=True, envvar="TRACEJURY_URL", help="The running collector's API."
)
format_option: Decorator = click.option(
    "--format",
    "style",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="Tables for people, JSON for programs.",
)
profile_option: Decorator = click.option(
    "--profile",
    default="",
    metavar="NAME|NUMBER",
    help="strict, balanced, recall, or the least confidence to show (default: balanced; "
    "strict for traces of an unrecognised convention).",
)
limit_option: Decorator = click.option(
    "--limit", type=click.IntRange(min=1), default=100, show_default=True, help="Show at most this many."
)


class Moment(click.ParamType[str]):
    """A point in time as people write it; the value is ISO 8601, so that it stays put while a command runs."""

    name = "1h|30m|2d|ISO"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Reckon from now."""
        if not value:
            return ""
        try:
            nanos = parse_since(str(value), time.time_ns())
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return iso_time(nanos) or "1970-01-01T00:00:00Z"


since_option: Decorator = click.option(
    "--since", type=Moment(), default="", help="Only from this point in time on: a length back from now, or ISO 8601."
)
