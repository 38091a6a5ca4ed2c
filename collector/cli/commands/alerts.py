"""`tracejury alerts`."""

from __future__ import annotations

import click

from tracejury.collector.cli.options import api_options, limit_option, show_rows

from .alerts_test import test_command


@click.group("alerts")
def alerts_command() -> None:
    """Alert rules, what they told, and whether channels work."""


alerts_command.add_command(test_command)


@alerts_command.command("list")
@limit_option
@api_options
def list_alerts(*, limit: int, style: str, url: str) -> None:
    """List alert rules with their figures and states now, and the latest messages."""
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.cli.render.alerts import alerts_table

    with ApiClient(url) as client:
        show_rows(client.alerts(limit), alerts_table, style)
