"""The edges of the graph of agents and tools in one rebuilt trace, what was available and never called among them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from tracejury.schemas.call_graph import CallEdge, CalleeKind, by_calls
from tracejury.schemas.text.naming import MOST
from tracejury.schemas.trajectory import AgentRun, ToolCall, Trace

from .names import canonical, same_name

MOST_EDGES: Final = 400
"""Edges of a trace that are kept: those with most calls."""

_Place = tuple[CalleeKind, str, str]
_Counts = dict[_Place, list[int]]


def edges_of(trace: Trace) -> tuple[CallEdge, ...]:
    """The edges of a trace, most calls first; at most `MOST_EDGES`, of names cut as lists cut them."""
    runs = {run.id: run for run in trace.agents}
    begun: dict[str, list[AgentRun]] = {}
    for run in runs.values():
        begun.setdefault(run.parent_id if run.parent_id in runs else "", []).append(run)
    found: _Counts = {}
    for run in begun.get("", ()):
        _add(found, (CalleeKind.ENTRY, "", run.name[:MOST]), [1, _failed(run), 1, 1])
    for run in runs.values():
        for place, counts in _of_run(run, begun.get(run.id, ())).items():
            _add(found, place, counts)
    edges = (CallEdge(*place, *counts) for place, counts in found.items())
    return tuple(sorted(edges, key=by_calls)[:MOST_EDGES])


def _of_run(run: AgentRun, begun: Sequence[AgentRun]) -> _Counts:
    """The edges from one run: its calls, and what it could have called."""
    caller = run.name[:MOST]
    found: _Counts = {}
    for child in begun:
        _add(found, (CalleeKind.AGENT, caller, child.name[:MOST]), [1, _failed(child), 0, 0])
    calls = [call for turn in run.turns for call in turn.tool_calls]
    for call in calls:
        if call.sub_run_id and call.name:
            found.setdefault((CalleeKind.TOOL, caller, call.name[:MOST]), [0, 0, 1, 1])
        elif call.name:
            _add(found, (CalleeKind.TOOL, caller, call.name[:MOST]), [1, _is_failed(call), 0, 0])
    for counts in found.values():
        counts[2:] = [1, 1]
    agents = {*(child.name for child in begun), *run.managed_agents}
    delegating = agents | {call.name for call in calls if call.sub_run_id}
    tools = [*(tool.name for tool in run.tools), *(run.span.tool_names if run.span else ())]
    uncalled = _uncalled(tools, {call.name for call in calls} | delegating)
    for name in filter(None, tools):
        found.setdefault((CalleeKind.TOOL, caller, name[:MOST]), [0, 0, 1, int(name not in uncalled)])
    for name in agents:
        found.setdefault((CalleeKind.AGENT, caller, name[:MOST]), [0, 0, 1, 0])
    return found


def _uncalled(given: Iterable[str], called: set[str]) -> list[str]:
    """The given tools that were not called, under their own name or one that means the same and is no other tool's."""
    named = {canonical(name): name for name in given if name}
    others = [name for name in called if canonical(name) not in named]
    known = {canonical(name) for name in called}
    return [name for key, name in named.items() if key not in known and not any(same_name(name, o) for o in others)]


def _add(found: _Counts, place: _Place, counts: Sequence[int]) -> None:
    own = found.setdefault(place, [0, 0, 0, 0])
    for at, count in enumerate(counts):
        own[at] += count


def _failed(run: AgentRun) -> int:
    return int(run.status == "error")


def _is_failed(call: ToolCall) -> int:
    return int(call.error is not None or call.executed is False)
