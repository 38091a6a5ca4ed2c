"""`tracejury judge`."""

from __future__ import annotations

import click

from tracejury.collector.cli.options import api_options, show_rows, since_option


@click.command("judge")
@click.option("--trace", "trace_id", default="", metavar="ID", help="This trace.")
@click.option("--session", default="", metavar="ID", help="This session, which is closed then.")
@click.option("--service", default="", help="With --session: of this service, where several have one of that id.")
@since_option
@api_options
def judge_command(*, trace_id: str, session: str, service: str, since: str, style: str, url: str) -> None:
    """Judge one stored trace or session again, or all that arrived since a point in time."""
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.cli import output
    from tracejury.collector.cli.render.tables import judged_table

    if [bool(trace_id), bool(session), bool(since)].count(True) != 1:
        raise click.UsageError("name one of --trace ID, --session ID and --since TIME")
    if service and not session:
        raise click.UsageError("--service goes with --session ID")
    named = {"trace_id": trace_id, "session": session, "service": service, "since": since}
    with ApiClient(url) as client, output.progress() as bar:
        task = bar.add_task("judging", total=None)
        judged = []
        for item in client.judge(named):
            judged.append(item)
            bar.update(task, completed=len(judged))
    show_rows(judged, judged_table, style)
