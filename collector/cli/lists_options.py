"""The options of lists of traces and sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import click

from tracejury.schemas.filters import TRACE_FILTERS, named
from tracejury.schemas.list_columns import ListColumn
from tracejury.schemas.queries.listing import Sort

from .options import Decorator, Moment, combined, filter_options, profile_option, since_option

SESSION: Final = filter_options(*named(TRACE_FILTERS, "session"))


def columns_option(columns: Sequence[ListColumn]) -> Decorator:
    """The option `--columns` of a list."""
    return click.option(
        "--columns",
        multiple=True,
        metavar="NAME,…",
        help=f"Only these columns of the table: {', '.join(one.name for one in columns)}.",
    )


list_options: Final[Decorator] = combined(
    filter_options(*(one for one in TRACE_FILTERS if one.name != "session")),
    click.option("--min-duration", default="", metavar="LENGTH", help="Only lasting so long or longer: 500ms, 30s."),
    click.option("--text", default="", help="Only where this stands in what was said or found, or begins an id."),
    since_option,
    click.option("--until", type=Moment(), default="", help="Only before this point in time, as in --since."),
    profile_option,
    click.option("--sort", type=click.Choice([s.value for s in Sort]), default=Sort.RECEIVED.value, show_default=True,
                 help="The order: by last arrival, start, duration, cost, tokens, worst errors, or their number."),
    click.option("--ascending", is_flag=True, help="The least first."),
)  # fmt: skip
"""The filters and the order."""


def asked(filters: dict[str, Any]) -> dict[str, str | Sequence[str]]:
    """The options as the API's parameters."""
    given = ((name, value) for name, value in filters.items() if value and name != "ascending")
    named = {name: value if isinstance(value, tuple) else str(value) for name, value in given}
    return {**named, **({"order": "asc"} if filters.get("ascending") else {})}
