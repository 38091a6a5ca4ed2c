"""Options that several commands share."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from tracejury.schemas.filters import Filter
from tracejury.schemas.text.moments import iso_time, parse_since

if TYPE_CHECKING:
    from rich.console import RenderableType

DEFAULT_URL = "http://127.0.0.1:8321"

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def combined(*options: Decorator) -> Decorator:
    """A decorator that adds all these options, in their order."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def _hand_on(_ctx: click.Context, option: click.Parameter, path: str) -> None:
    """Put the path where the clients of this process look for it."""
    if path:
        os.environ[str(option.envvar)] = path


def tls_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add options of the certificates for https://; clients find them in the environment."""
    for name, text in (
        ("key", "The key of --tls-cert."),
        ("cert", "PEM file with a certificate of your own, for a collector that asks for one."),
        ("ca", "PEM file with authorities to trust with https:// (default: the usual ones)."),
    ):
        command = click.option(
            f"--tls-{name}",
            envvar=f"TRACEJURY_TLS_{name.upper()}",
            default="",
            metavar="FILE",
            help=text,
            expose_value=False,
            callback=_hand_on,
        )(command)
    return command


def url_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--url`, with the options of its certificates."""
    return click.option(
        "--url", default=DEFAULT_URL, show_default=True, envvar="TRACEJURY_URL", help="The running collector's API."
    )(tls_options(command))


format_option: Decorator = click.option(
    "--format",
    "style",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="Tables for people, JSON for programs.",
)


def api_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--format` and the options of the collector that is asked."""
    return format_option(url_option(command))


profile_option: Decorator = click.option(
    "--profile",
    default="",
    metavar="NAME|NUMBER",
    help="strict, balanced, recall, or the least confidence to show (default: balanced; "
    "strict for traces of an unrecognised convention).",
)
simulated_option: Decorator = click.option(
    "--simulated", is_flag=True, help="Of simulated sessions instead of real ones (tracejury talk)."
)
limit_option: Decorator = click.option(
    "--limit", type=click.IntRange(min=1), default=100, show_default=True, help="Show at most this many."
)


def filter_options(*filters: Filter) -> Decorator:
    """A decorator that adds an option for each filter."""

    def option(one: Filter) -> Decorator:
        name = f"--{one.name.replace('_', '-')}"
        return click.option(name, **_settings(one), metavar=one.metavar or None, help=one.help)

    return combined(*map(option, filters))


def _settings(one: Filter) -> dict[str, Any]:
    if one.repeated:
        return {"multiple": True}
    choices = one.choices if one.option_choices is None else one.option_choices
    if not choices:
        return {"default": ""}
    blank = [""] if one.default == "" and one.option_choices is None else []
    kind = click.Choice([*blank, *map(str, choices)], case_sensitive=not one.any_case)
    return {"type": kind, "default": "" if blank else None}


def show_rows(rows: Any, table: Callable[[Any], RenderableType], style: str, *, more_than: int | None = None) -> None:
    """Rows of the API for programs or, as `table`, for people; `more_than`: the limit that cut them."""
    from . import output

    if style == "json":
        output.show_json(rows)
    else:
        output.show(table(rows))
    if more_than is not None:
        output.note(f"there are more than {more_than}: raise --limit to see them")


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
