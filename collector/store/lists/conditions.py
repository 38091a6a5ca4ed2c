"""The filters of a list as conditions on `traces`; each is a fixed text, and what a user typed a bound parameter."""

from __future__ import annotations

from typing import Any, Final

from ....schemas.queries.reader import TraceQuery
from ..scope import TENANT
from .findings import HOLDS, filtered, near, sure, thresholds, whole
from .search import found_in

ARRIVED: Final = "toUnixTimestamp64Nano(ReceivedAt)"
DURATION: Final = "if(EndNanos > StartNanos, EndNanos - StartNanos, 0)"

EVERY: Final = f"{TENANT} AND JoinedTo = ''"
"""What every trace that is listed fulfils."""

_RUNS: Final = "arrayExists((name, role, model) -> {}, Runs.Name, Runs.Role, Runs.Model)"
_RUN_IDS: Final = "arrayFilter((id, name, role, model) -> {}, Runs.Id, Runs.Name, Runs.Role, Runs.Model)"


def conditions(query: TraceQuery, *, of_sessions: bool = False) -> tuple[str, dict[str, Any]]:
    """What a trace must fulfil, and the values. `of_sessions`: state and duration are the session's, and left out."""
    found, values = [EVERY], {}
    plain: list[tuple[str, str, Any]] = [
        ("ServiceName = {service:String}", "service", query.service),
        ("Version = {version:String}", "version", query.version),
        ("SessionId = {session_id:String}", "session_id", query.session_id),
        (f"{ARRIVED} >= {{since:Int64}}", "since", query.since),
        (f"{ARRIVED} < {{until:Int64}}", "until", query.until),
        ("has(Calls.Tool, {tool:String})", "tool", query.tool),
    ]
    if not of_sessions:
        plain += [
            ("State = {state:String}", "state", query.state.value if query.state else ""),
            (f"{DURATION} >= {{min_duration:UInt64}}", "min_duration", query.min_duration),
        ]
    for text, name, value in plain:
        if value:
            found.append(text)
            values[name] = value
    for part in (_runs(query), _findings(query), found_in(query)):
        if part is not None:
            found.append(part[0])
            values |= part[1]
    return " AND ".join(found), values


def _runs(query: TraceQuery) -> tuple[str, dict[str, Any]] | None:
    """One agent run has all that is asked of one."""
    asked, values = _of_one_run(query)
    return (_RUNS.format(asked), values) if asked else None


def _of_one_run(query: TraceQuery) -> tuple[str, dict[str, Any]]:
    asked = {"name": query.agent, "role": query.role, "model": query.model}
    given = {name: value for name, value in asked.items() if value}
    text = " AND ".join(f"{name} = {{run_{name}:String}}" for name in given)
    return text, {f"run_{name}": value for name, value in given.items()}


def _findings(query: TraceQuery) -> tuple[str, dict[str, Any]] | None:
    """One finding has all that is asked of one, in such a run and at such a tool."""
    asked, values = filtered(query)
    if not asked:
        return None
    of_run, run_values = _of_one_run(query)
    places = []
    if of_run:
        places.append(
            "(TraceId, AgentRunId) IN (SELECT TraceId, arrayJoin("
            f"{_RUN_IDS.format(of_run)}) FROM traces FINAL WHERE {TENANT} AND {_RUNS.format(of_run)})"
        )
    if query.tool:
        places.append(
            "(TraceId, SpanId) IN (SELECT TraceId, arrayJoin(arrayFilter((id, tool) -> tool = {tool:String}, "
            f"Calls.SpanId, Calls.Tool)) FROM traces FINAL WHERE {TENANT} AND has(Calls.Tool, {{tool:String}}))"
        )
    inner = " AND ".join([TENANT, near(query), HOLDS, *asked, *places, sure(query.confidence)])
    found = f"SELECT TraceId FROM findings FINAL WHERE {inner}"
    return whole(found), values | run_values | thresholds(query.confidence)
