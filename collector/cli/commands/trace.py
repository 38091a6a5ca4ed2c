"""`tracejury trace ID`."""

from __future__ import annotations

import click

from ..options import format_option, profile_option, show_rows, url_option


@click.command("trace")
@click.argument("trace_id", metavar="ID")
@profile_option
@format_option
@url_option
def trace_command(*, trace_id: str, profile: str, style: str, url: str) -> None:
    """Show one trace: the tree of agent runs, turns and tool calls, with findings at their spans."""
    from ...api.client import ApiClient
    from ..render.tree import trace_tree

    with ApiClient(url) as client:
        trace = client.trace(trace_id, profile=profile)
    show_rows(trace, trace_tree, style)
