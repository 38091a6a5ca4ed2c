"""`tracejury traces`."""

from __future__ import annotations

from typing import Any

import click

from tracejury.collector.cli.lists_options import SESSION, asked, list_options
from tracejury.collector.cli.options import api_options, limit_option, show_rows


@click.command("traces")
@SESSION
@list_options
@limit_option
@api_options
def traces_command(*, limit: int, style: str, url: str, **filters: Any) -> None:
    """List stored traces, latest arrival first unless sorted otherwise."""
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.cli.render.lists import traces_table

    with ApiClient(url) as client:
        rows, more = client.traces(asked(filters), limit)
    show_rows(rows, traces_table, style, more_than=limit if more else None)
