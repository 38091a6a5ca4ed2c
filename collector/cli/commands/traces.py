"""`tracejury traces`."""

from __future__ import annotations

from typing import Any

import click

from tracejury.collector.cli.lists_options import SESSION, asked, columns_option, list_options
from tracejury.collector.cli.options import api_options, limit_option, show_rows
from tracejury.collector.cli.saved_view import view_option, with_view
from tracejury.schemas.list_columns import COLUMNS_OF_TRACES


@click.command("traces")
@SESSION
@view_option
@list_options
@columns_option(COLUMNS_OF_TRACES)
@limit_option
@api_options
def traces_command(*, view: str, limit: int, style: str, url: str, **filters: Any) -> None:
    """List stored traces, latest arrival first unless sorted otherwise."""
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.cli.render.lists import traces_table

    with ApiClient(url) as client:
        saved, options = with_view(client, view, "/traces", filters, ("order",))
        chosen = options.pop("columns", ()) or saved.pop("columns", ())
        rows, more = client.traces({**saved, **asked(options)}, limit)
    show_rows(rows, lambda found: traces_table(found, chosen), style, more_than=limit if more else None)
