"""Graphs of agents and tools as models of the API. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tracejury.schemas.call_graph import CallGraph
from tracejury.schemas.wire.base import fill
from tracejury.schemas.wire.call_graph import CallEdgeJson, CallGraphJson, CallNodeJson


def present_call_graph(graph: CallGraph, unknown: Mapping[str, Sequence[str]]) -> CallGraphJson:
    """The graph; `unknown`: filters whose value is in no stored data, with known values."""
    return CallGraphJson(
        nodes=[fill(CallNodeJson, node) for node in graph.nodes],
        edges=[fill(CallEdgeJson, edge) for edge in graph.edges],
        traces=graph.traces,
        left=graph.left,
        unknown_traces=graph.unknown,
        unknown={name: list(known) for name, known in unknown.items()},
    )
