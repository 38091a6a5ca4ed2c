"""`tracejury receipts`."""

from __future__ import annotations

import click

from tracejury.collector.cli.options import api_options, limit_option, show_rows


@click.command("receipts")
@limit_option
@api_options
def receipts_command(*, limit: int, style: str, url: str) -> None:
    """List what deletions have removed, the latest first; receipts name nobody."""
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.cli.render.receipts import receipts_table

    with ApiClient(url) as client:
        show_rows(client.receipts(limit), receipts_table, style)
