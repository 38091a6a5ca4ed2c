"""Graphs of agents and tools for people. Names are texts of spans: plain text, made safe, never markup."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from tracejury.schemas.call_graph import CalleeKind
from tracejury.schemas.text.counting import counted
from tracejury.schemas.text.naming import agent_name
from tracejury.schemas.wire.call_graph import CallEdgeJson, CallGraphJson

from .tables import content, rows_table

_NAME = 60


def call_graph_table(graph: CallGraphJson) -> RenderableType:
    """A line an edge, most calls first; what was never called says so."""
    table = rows_table(
        graph.edges,
        "no calls",
        {
            "caller": _caller,
            "calls": lambda edge: content(agent_name(edge.callee), _NAME),
            "kind": lambda edge: "tool" if edge.kind == CalleeKind.TOOL else "agent",
            "times": lambda edge: str(edge.calls) if edge.calls else Text("never", "yellow"),
            "failed": lambda edge: Text(str(edge.failed), "red") if edge.failed else "0",
            "used by runs that had it": lambda edge: f"{edge.used} of {edge.given}",
        },
    )
    lines = [Text(counted(graph.traces, "trace"), "dim")]
    if graph.left:
        lines.append(Text(f"{counted(graph.left, 'more edge')}: narrow with filters, or raise --limit", "dim"))
    if graph.unknown_traces:
        lines.append(Text(f"the calls of {graph.unknown_traces} are not known: an earlier version judged them", "dim"))
    return Group(table, *lines)


def _caller(edge: CallEdgeJson) -> Text:
    if edge.kind == CalleeKind.ENTRY:
        return Text("from outside", "dim")
    return content(agent_name(edge.caller or ""), _NAME)
