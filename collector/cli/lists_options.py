"""The options of lists of traces and sessions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click

from ...schemas.queries.listing import Sort
from ...schemas.taxonomy import Dimension, Severity
from ...schemas.trajectory import TraceState
from .options import Decorator, Moment, profile_option, since_option

_FILTERS: Final[tuple[Decorator, ...]] = (
    click.option("--service", default="", help="Only of this service."),
    click.option("--version", default="", help="Only of this version of the service."),
    click.option("--agent", default="", help="Only with a run of this agent."),
    click.option("--role", default="", type=click.Choice(["", "manager", "sub-agent"]), metavar="manager|sub-agent",
                 help="Only with a run of this role."),
    click.option("--model", default="", help="Only with a run that this model answered."),
    click.option("--tool", default="", help="Only with a call of this tool."),
    click.option("--state", default="", type=click.Choice(["", *(s.value for s in TraceState)]),
                 metavar="open|settled|incomplete", help="Only in this state."),
    click.option("--severity", default="", metavar="LOW|MEDIUM|HIGH",
                 type=click.Choice(["", *(s.value for s in Severity)], case_sensitive=False),
                 help="Only with a finding of this severity or above."),
    click.option("--category", default="", help="Only with a finding of this category."),
    click.option("--taxonomy", default="", help="Only with a finding in this taxonomy."),
    click.option("--judge", default="", help="Only with a finding of this detector or judge."),
    click.option("--dimension", default="", metavar="PQ|PA|GF|LC|EE|TS|TC",
                 type=click.Choice(["", *(d.value for d in Dimension)], case_sensitive=False),
                 help="Only with a finding in this dimension."),
    click.option("--min-duration", default="", metavar="LENGTH", help="Only lasting so long or longer: 500ms, 30s."),
    click.option("--text", default="", help="Only where this stands in what was said or found, or begins an id."),
    since_option,
    click.option("--until", type=Moment(), default="", help="Only before this point in time, as in --since."),
    profile_option,
)  # fmt: skip

_ORDER: Final[tuple[Decorator, ...]] = (
    click.option("--sort", type=click.Choice([s.value for s in Sort]), default=Sort.RECEIVED.value, show_default=True,
                 help="The order: by last arrival, start, duration, cost, tokens, worst findings, or their number."),
    click.option("--ascending", is_flag=True, help="The least first."),
)  # fmt: skip


def list_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The filters and the order."""
    for option in reversed(_FILTERS + _ORDER):
        command = option(command)
    return command


def asked(filters: dict[str, Any]) -> dict[str, str]:
    """The options as the API's parameters."""
    named = {name: str(value) for name, value in filters.items() if name != "ascending"}
    return {**named, "order": "asc" if filters["ascending"] else "desc"}
