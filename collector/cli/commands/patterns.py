"""`tracejury patterns`."""

from __future__ import annotations

import click

from tracejury.collector.cli.options import (
    Moment,
    api_options,
    profile_option,
    show_rows,
    simulated_option,
    since_option,
)
from tracejury.schemas.queries.patterns import STATES


@click.command("patterns")
@since_option
@click.option("--until", type=Moment(), default="", help="Only before this point in time, as in --since.")
@click.option(
    "--state",
    type=click.Choice([str(state) for state in STATES]),
    default=None,
    help="Only in this state; all: resolved and ignored ones, too.",
)
@click.option("--service", default="", metavar="NAME", help="Only of this service.")
@profile_option
@simulated_option
@click.option("--limit", type=click.IntRange(min=1, max=1000), default=100, show_default=True, help="Patterns at most.")
@api_options
def patterns_command(
    *,
    since: str,
    until: str,
    state: str | None,
    service: str,
    profile: str,
    simulated: bool,
    limit: int,
    style: str,
    url: str,
) -> None:
    """List what keeps going wrong: errors that are one thing to fix, the most harmful first.

    Without --since: of the last week, compared with the four weeks before.
    """
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.cli.render.patterns import patterns_table

    filters = {"since": since, "until": until, "state": state or "", "service": service, "profile": profile}
    filters |= {"simulated": "true" if simulated else "", "limit": str(limit)}
    with ApiClient(url) as client:
        show_rows(client.patterns(filters), patterns_table, style)
