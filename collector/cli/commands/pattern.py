"""`tracejury pattern`."""

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


@click.command("pattern")
@click.argument("pattern", metavar="ID")
@since_option
@click.option("--until", type=Moment(), default="", help="Only before this point in time, as in --since.")
@profile_option
@simulated_option
@api_options
def pattern_command(
    *, pattern: str, since: str, until: str, profile: str, simulated: bool, style: str, url: str
) -> None:
    """Show one pattern: how frequent it is, since when, in which versions, with examples, and what people say of it.

    Its errors: `tracejury errors --pattern ID`; its traces: `tracejury traces --pattern ID`.
    """
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.cli.render.patterns import pattern_view

    filters = {"since": since, "until": until, "profile": profile, "simulated": "true" if simulated else ""}
    with ApiClient(url) as client:
        show_rows(client.pattern(pattern, filters), pattern_view, style)
