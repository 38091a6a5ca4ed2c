"""`tracejury trace ID`."""

from __future__ import annotations

import click

from tracejury.collector.cli import output
from tracejury.collector.cli.options import api_options, profile_option, show_rows
from tracejury.schemas.text.counting import counted

SHOWN = 20
"""Scores by others."""


@click.command("trace")
@click.argument("trace_id", metavar="ID")
@profile_option
@api_options
def trace_command(*, trace_id: str, profile: str, style: str, url: str) -> None:
    """Show one trace: the tree of agent runs, turns and tool calls, with errors at their spans."""
    from tracejury.collector.api.client import ApiClient
    from tracejury.collector.cli.render.scores import scores_table
    from tracejury.collector.cli.render.tree import trace_tree
    from tracejury.collector.cli.render.unproven import unproven_remark
    from tracejury.schemas.wire.traces import PartedTraceJson

    with ApiClient(url) as client:
        trace = client.trace(trace_id, profile=profile)
        given, more = client.scores({"trace": trace.trace_id}, SHOWN) if style != "json" else ([], False)
    show_rows(trace, trace_tree, style)
    if given:
        output.plain(f"\nScores by others{f' (the latest {SHOWN})' if more else ''}")
        output.show(scores_table(given))
    if style != "json" and (remark := unproven_remark(trace.errors)):
        output.note(remark)
    if isinstance(trace, PartedTraceJson) and (unseen := trace.part.stored_spans - trace.spans) > 0:
        output.note(f"{counted(unseen, 'stored span')} not shown: judging has not seen them, or the trace is too large")
