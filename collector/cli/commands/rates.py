"""`tracejury rates`."""

from __future__ import annotations

from typing import Any

import click

from tracejury.collector.cli.options import api_options, filter_options, profile_option, simulated_option, since_option
from tracejury.schemas.figure_filters import RATE_FILTERS
from tracejury.schemas.rates import By, Population, Unit


@click.command("rates")
@click.option("--by", type=click.Choice([by.value for by in By]), help="Tell apart by this.")
@click.option("--unit", type=click.Choice([unit.value for unit in Unit]), help="Count these (default: runs).")
@click.option(
    "--population",
    type=click.Choice([population.value for population in Population]),
    help="Whose errors count (default: both where LLM judges looked at anything, else detectors).",
)
@click.option("--step", default="", metavar="15m|1h|1d", help="A point in time for each such length.")
@since_option
@click.option("--until", default="", metavar="1h|ISO", help="Only before this point in time.")
@profile_option
@filter_options(*RATE_FILTERS)
@simulated_option
@click.option("--calibrated", is_flag=True, help="Also the shares corrected by human labels.")
@click.option("--limit", type=click.IntRange(min=1, max=1000), default=100, show_default=True, help="Groups at most.")
@click.option(
    "--compare-to",
    default="",
    metavar="previous|version=X|service=X|FROM..UNTIL",
    help="Say whether these rates differ from those.",
)
@api_options
def rates_command(
    *,
    compare_to: str,
    simulated: bool,
    calibrated: bool,
    limit: int,
    style: str,
    url: str,
    **given: Any,
) -> None:
    """Show what share of agent runs (turns, traces, sessions) has errors, with 95% intervals.

    Without --since: of the last day. Did the deploy make it worse? --version 2.1 --compare-to version=2.0
    """
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.cli import output
    from tracejury.collector.cli.render.rates import comparison_table, judges_by_behaviour, rates_table

    given_too = [option for option, value in (("--by", given["by"]), ("--step", given["step"])) if value]
    given_too += ["--calibrated"] * calibrated
    if compare_to and given_too and style != "json":
        raise click.UsageError(
            f"--compare-to compares all that is asked for, and shows no {given_too[0]}: leave it out"
        )
    found: object
    filters = {name: value for name, value in given.items() if value} | {"limit": str(limit)}
    if "severity" in filters:
        filters["severity"] = filters["severity"].upper()
    if calibrated:
        filters["calibrated"] = "true"
    if simulated:
        filters["simulated"] = "true"
    with ApiClient(url) as client:
        if compare_to:
            compared = client.compare_rates(filters, compare_to)
            found, table = compared, comparison_table(compared)
        else:
            page = client.rates(filters)
            found, table = page, rates_table(page)
            if given["by"] == By.BEHAVIOUR and style != "json" and not {"judge", "behaviour", "step"} & filters.keys():
                asked = filters | {"by": By.JUDGE.value, "population": page.population}
                judges = {row.key: client.rates(asked | {"behaviour": row.key}) for row in page.items if row.key}
                table = judges_by_behaviour(table, judges)
    if style == "json":
        output.show_json(found)
    else:
        output.show(table)
