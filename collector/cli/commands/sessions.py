"""`tracejury sessions`."""

from __future__ import annotations

from typing import Any

import click

from tracejury.collector.cli.lists_options import asked, list_options
from tracejury.collector.cli.options import api_options, limit_option, show_rows


@click.command("sessions")
@list_options
@limit_option
@api_options
def sessions_command(*, limit: int, style: str, url: str, **filters: Any) -> None:
    """List sessions that hold a trace of the filters; state, duration and order are the session's."""
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.cli.render.lists import sessions_table

    with ApiClient(url) as client:
        rows, more = client.sessions(asked(filters), limit)
    show_rows(rows, sessions_table, style, more_than=limit if more else None)
