"""`tracejury error ID`."""

from __future__ import annotations

import click

from tracejury.collector.cli.options import api_options, profile_option, show_rows


@click.command("error")
@click.argument("error_id", metavar="ID")
@profile_option
@api_options
def error_command(*, error_id: str, profile: str, style: str, url: str) -> None:
    """Show one error with its findings, by any id it ever had, the id of a finding, or the beginning of one."""
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.cli.render.tables import error_view

    with ApiClient(url) as client:
        error = client.error(error_id, profile=profile)
    show_rows(error, error_view, style)
