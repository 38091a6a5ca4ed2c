"""`tracejury performance`."""

from __future__ import annotations

from typing import Any

import click

from tracejury.collector.cli.options import api_options, filter_options, simulated_option, since_option
from tracejury.schemas.figure_filters import PERFORMANCE_FILTERS
from tracejury.schemas.queries.performance import PerformanceBy, PerformanceUnit


@click.command("performance")
@click.option("--by", type=click.Choice([by.value for by in PerformanceBy]), help="Tell apart by this.")
@click.option("--unit", type=click.Choice([unit.value for unit in PerformanceUnit]), help="Of these (default: runs).")
@click.option("--step", default="", metavar="15m|1h|1d", help="A point in time for each such length.")
@since_option
@click.option("--until", default="", metavar="1h|ISO", help="Only before this point in time.")
@filter_options(*PERFORMANCE_FILTERS)
@simulated_option
@click.option("--limit", type=click.IntRange(min=1, max=1000), default=100, show_default=True, help="Groups at most.")
@api_options
def performance_command(*, simulated: bool, limit: int, style: str, url: str, **given: Any) -> None:
    """Show latency percentiles, tokens, cost and failures of agent runs, LLM calls or tool calls.

    Without --since: of the last day. Which model is slow, and what does it cost? --unit llm_call --by model
    """
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.cli import output
    from tracejury.collector.cli.render.performance import performance_table

    filters = {name: value for name, value in given.items() if value} | {"limit": str(limit)}
    if simulated:
        filters["simulated"] = "true"
    with ApiClient(url) as client:
        page = client.performance(filters)
    if style == "json":
        output.show_json(page)
    else:
        output.show(performance_table(page))
