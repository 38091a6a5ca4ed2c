"""`tracejury sessions`."""

from __future__ import annotations

from typing import Any

import click

from tracejury.collector.cli.lists_options import asked, columns_option, list_options
from tracejury.collector.cli.options import api_options, limit_option, show_rows
from tracejury.collector.cli.saved_view import view_option, with_view
from tracejury.schemas.list_columns import COLUMNS_OF_SESSIONS


@click.command("sessions")
@view_option
@list_options
@columns_option(COLUMNS_OF_SESSIONS)
@limit_option
@api_options
def sessions_command(*, view: str, limit: int, style: str, url: str, **filters: Any) -> None:
    """List sessions that hold a trace of the filters; state, duration and order are the session's."""
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.cli.render.lists import sessions_table

    with ApiClient(url) as client:
        saved, options = with_view(client, view, "/sessions", filters, ("order",))
        chosen = options.pop("columns", ()) or saved.pop("columns", ())
        rows, more = client.sessions({**saved, **asked(options)}, limit)
    show_rows(rows, lambda found: sessions_table(found, chosen), style, more_than=limit if more else None)
