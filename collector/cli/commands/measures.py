"""`tracejury measures`."""

from __future__ import annotations

import click

from tracejury.collector.cli.measures_options import MEASURES, measure_filters, measures_options
from tracejury.collector.cli.options import api_options, filter_options, show_rows, since_option
from tracejury.schemas.figure_filters import MEASURE_FILTERS


@click.command("measures")
@measures_options
@filter_options(*(one for one in MEASURE_FILTERS if one.name not in MEASURES))
@click.option("--step", default="", metavar="15m|1h|1d", help="A point in time for each such length.")
@since_option
@click.option("--until", default="", metavar="1h|ISO", help="Only before this point in time.")
@click.option(
    "--compare-to",
    default="",
    metavar="previous|version=X|service=X|FROM..UNTIL",
    help="Show how these measures differ from those.",
)
@api_options
def measures_command(*, style: str, url: str, **given: str | bool | int | None) -> None:
    """Show the measures that packs give sessions, with 95% intervals.

    Without --since: of the last seven days. Did the deploy make it worse? --version 2.1 --compare-to version=2.0
    """
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.cli.render.measures import measures_table

    with ApiClient(url) as client:
        found = client.measures(measure_filters(**given))
    show_rows(found, measures_table, style)
