"""`tracejury measures`."""

from __future__ import annotations

import click

from tracejury.collector.cli.options import api_options, filter_options, show_rows, simulated_option, since_option
from tracejury.schemas.filters import MEASURE_FILTERS


@click.command("measures")
@filter_options(*MEASURE_FILTERS)
@click.option(
    "--by",
    default="",
    metavar="service|version|agent|model|task|behaviour|attribute:KEY",
    help="Tell sessions apart by this.",
)
@click.option("--step", default="", metavar="15m|1h|1d", help="A point in time for each such length.")
@since_option
@click.option("--until", default="", metavar="1h|ISO", help="Only before this point in time.")
@simulated_option
@click.option("--pooled", is_flag=True, help="Numerators over denominators, not the mean over sessions.")
@click.option("--trials", is_flag=True, help="Figures of tasks that were tried several times.")
@click.option("--k", default="", metavar="K", help="Trials that Max@k, pass@k and pass^k are of (default: 1).")
@click.option("--threshold", default="", metavar="0..1", help="The least value of a trial that succeeds (default: 1).")
@click.option("--limit", type=click.IntRange(min=1, max=1000), default=100, show_default=True, help="Groups at most.")
@click.option(
    "--compare-to",
    default="",
    metavar="previous|version=X|service=X|FROM..UNTIL",
    help="Show how these measures differ from those.",
)
@api_options
def measures_command(*, limit: int, style: str, url: str, **given: str | bool | None) -> None:
    """Show the measures that packs give sessions, with 95% intervals.

    Without --since: of the last seven days. Did the deploy make it worse? --version 2.1 --compare-to version=2.0
    """
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.cli.render.measures import measures_table

    filters = {name: "true" if value is True else value for name, value in given.items() if value}
    filters["limit"] = str(limit)
    with ApiClient(url) as client:
        found = client.measures(filters)
    show_rows(found, measures_table, style)
