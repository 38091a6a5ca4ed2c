"""`tracejury graph`."""

from __future__ import annotations

import click

from tracejury.collector.cli.options import Moment, api_options, show_rows, simulated_option, since_option


@click.command("graph")
@click.argument("trace", required=False, metavar="[TRACE]")
@since_option
@click.option("--until", type=Moment(), default="", help="Only before this point in time, as in --since.")
@click.option("--service", default="", metavar="NAME", help="Only of this service.")
@simulated_option
@click.option("--limit", type=click.IntRange(min=1, max=1000), default=100, show_default=True, help="Edges at most.")
@api_options
def graph_command(
    *, trace: str | None, since: str, until: str, service: str, simulated: bool, limit: int, style: str, url: str
) -> None:
    """Show who calls whom: agents and tools, how often, how often that fails, and what nobody called.

    Of one TRACE, by its id or its beginning; else of all judged traces, without --since of the last week.
    """
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.cli.render.call_graph import call_graph_table

    if trace and (since or until or service or simulated):
        raise click.UsageError("name a TRACE, or choose traces by options")
    filters = {"since": since, "until": until, "service": service, "simulated": "true" if simulated else ""}
    with ApiClient(url) as client:
        given = {} if trace else filters | {"limit": str(limit)}
        show_rows(client.call_graph(given, trace or ""), call_graph_table, style)
