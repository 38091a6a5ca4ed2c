"""`tracejury traces`."""

from __future__ import annotations

import click

from .options import format_option, limit_option, profile_option, since_option, url_option


@click.command("traces")
@click.option("--service", default="", help="Only of this service.")
@click.option("--agent", default="", help="Only with a run of this agent.")
@click.option("--session", default="", help="Only of this session.")
@since_option
@profile_option
@limit_option
@format_option
@url_option
def traces_command(*, limit: int, style: str, url: str, **filters: str) -> None:
    """List stored traces, latest arrival first."""
    from ..client import Client
    from ..tables import traces_table
    from . import output

    with Client(url) as client:
        rows, more = client.traces(filters, limit)
    if style == "json":
        output.show_json(rows)
    else:
        output.show(traces_table(rows))
    if more:
        output.note(f"there are more than {limit}: raise --limit to see them")
