"""`tracejury ledger`."""

from __future__ import annotations

import click

from ....schemas.verdicts import Outcome
from ..options import format_option, limit_option, since_option, url_option


@click.command("ledger")
@click.option("--trace", default="", metavar="ID", help="Only of this trace; says why it has no score.")
@click.option("--judge", default="", help="Only of this judge (detectors: all detectors together).")
@click.option("--outcome", type=click.Choice(list(map(str, Outcome))), help="Only what ended like this.")
@click.option("--service", default="", help="Only of this service.")
@since_option
@click.option("--all", "everything", is_flag=True, help="Also superseded windows, and what detectors said.")
@limit_option
@format_option
@url_option
def ledger_command(*, everything: bool, limit: int, style: str, url: str, **given: str | None) -> None:
    """Show what LLM judges did, did not do, and why: one line a judge and agent run, latest first; and what it cost.

    Without --trace and --since: of the last day.
    """
    from ...api.client import ApiClient
    from .. import output
    from ..render.ledger import ledger_table

    filters = {name: value for name, value in given.items() if value}
    if everything:
        filters["all"] = "true"
    with ApiClient(url) as client:
        page = client.ledger(filters, limit)
    if style == "json":
        output.show_json(page)
    else:
        output.show(ledger_table(page))
    if page.next:
        output.note(f"there are more than {limit}: raise --limit to see them")
