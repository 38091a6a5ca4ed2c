"""`tracejury doctor`."""

from __future__ import annotations

import click

from tracejury.collector.cli.failures import EXIT_ERROR
from tracejury.collector.cli.options import api_options, show_rows


@click.command("doctor")
@click.option("--trace", default="", metavar="ID", help="Examine this trace.")
@click.option("--service", default="", metavar="NAME", help="Examine the latest traces of this service.")
@click.option("--fail-on-gaps", is_flag=True, help=f"Exit with {EXIT_ERROR} if there is a gap (LOW ones are remarks).")
@api_options
@click.pass_context
def doctor_command(
    ctx: click.Context, /, *, trace: str, service: str, fail_on_gaps: bool, style: str, url: str
) -> None:
    """Say what traces show of an agent, what they lack, and the variable or line of code that mends it.

    With neither --trace nor --service: the services of the last day, a line each with its worst gap.
    """
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.cli.render.doctor import diagnosis_text, services_table

    if trace and service:
        raise click.UsageError("name either --trace or --service, not both")
    with ApiClient(url) as client:
        found = client.doctor(trace=trace, service=service)
    show_rows(found, (lambda one: diagnosis_text(one[0])) if trace or service else services_table, style)
    if fail_on_gaps and any(gap.severity != "LOW" for one in found for gap in one.gaps):
        ctx.exit(EXIT_ERROR)
