"""`tracejury traces`."""

from __future__ import annotations

from typing import Any

import click

from ..lists_options import asked, list_options
from ..options import format_option, limit_option, url_option


@click.command("traces")
@click.option("--session", default="", help="Only of this session.")
@list_options
@limit_option
@format_option
@url_option
def traces_command(*, limit: int, style: str, url: str, **filters: Any) -> None:
    """List stored traces, latest arrival first unless sorted otherwise."""
    from ...api.client import ApiClient
    from .. import output
    from ..render.lists import traces_table

    with ApiClient(url) as client:
        rows, more = client.traces(asked(filters), limit)
    if style == "json":
        output.show_json(rows)
    else:
        output.show(traces_table(rows))
    if more:
        output.note(f"there are more than {limit}: raise --limit to see them")
