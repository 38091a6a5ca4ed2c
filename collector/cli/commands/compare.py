"""`tracejury compare`."""

from __future__ import annotations

import click

from tracejury.collector.cli.options import Moment, api_options, profile_option, show_rows, since_option


@click.command("compare")
@click.argument("traces", metavar="[A B]", nargs=-1)
@click.option("--task", default="", metavar="ID", help="Of runs of this task, those that fail and those that pass.")
@click.option("--pattern", default="", metavar="ID", help="Runs with this pattern and runs without it.")
@click.option("--service", default="", metavar="NAME", help="Only of this service.")
@since_option
@click.option("--until", type=Moment(), default="", help="Only before this point in time, as in --since.")
@profile_option
@api_options
def compare_command(
    *,
    traces: tuple[str, ...],
    task: str,
    pattern: str,
    service: str,
    since: str,
    until: str,
    profile: str,
    style: str,
    url: str,
) -> None:
    """Show the first step at which two traces of one question differ, side by side.

    With --task or --pattern: the earliest step at which failing runs do otherwise than passing ones, beyond chance.
    Without --since: of the last week.
    """
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.cli.render.divergence import runs_view, traces_view

    asked = {"task": task, "pattern": pattern, "service": service, "since": since, "until": until, "profile": profile}
    if traces and any(asked.values()):
        raise click.UsageError("two traces are compared as they are: leave the options out")
    if len(traces) not in (0, 2) or (not traces and bool(task) == bool(pattern)):
        raise click.UsageError("name two traces, or --task, or --pattern")
    with ApiClient(url) as client:
        if traces:
            show_rows(client.compare_traces(*traces), traces_view, style)
        else:
            show_rows(client.compare_runs(asked), runs_view, style)
