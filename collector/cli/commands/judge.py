"""`tracejury judge`."""

from __future__ import annotations

import click

from ..options import format_option, show_rows, since_option, url_option


@click.command("judge")
@click.option("--trace", "trace_id", default="", metavar="ID", help="This trace.")
@since_option
@format_option
@url_option
def judge_command(*, trace_id: str, since: str, style: str, url: str) -> None:
    """Judge one stored trace again, or all that arrived since a point in time."""
    from ...api.client import ApiClient
    from .. import output
    from ..render.tables import judged_table

    if bool(trace_id) == bool(since):
        raise click.UsageError("name either --trace ID or --since TIME")
    with ApiClient(url) as client, output.progress() as bar:
        task = bar.add_task("judging", total=None)
        judged = []
        for item in client.judge(trace_id=trace_id, since=since):
            judged.append(item)
            bar.update(task, completed=len(judged))
    show_rows(judged, judged_table, style)
