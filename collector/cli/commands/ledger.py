"""`tracejury ledger`."""

from __future__ import annotations

import click

from tracejury.collector.cli.options import api_options, filter_options, limit_option, show_rows, since_option
from tracejury.schemas.filters import LEDGER_FILTERS


@click.command("ledger")
@filter_options(*LEDGER_FILTERS)
@since_option
@click.option("--all", "everything", is_flag=True, help="Also superseded windows, and what detectors said.")
@limit_option
@api_options
def ledger_command(*, everything: bool, limit: int, style: str, url: str, **given: str | None) -> None:
    """Show what LLM judges did, did not do, and why, latest first; and what it cost.

    One line a judge and what it judged: an agent run, an exchange, a session or a trace.

    Without --trace and --since: of the last day.
    """
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.cli.render.ledger import ledger_table

    filters = {name: value for name, value in given.items() if value}
    if everything:
        filters["all"] = "true"
    with ApiClient(url) as client:
        page = client.ledger(filters, limit)
    show_rows(page, ledger_table, style, more_than=limit if page.next else None)
