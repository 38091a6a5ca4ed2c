"""The filters of a list as conditions on `traces`; each is a fixed text, and what a user typed a bound parameter."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from tracejury.collector.store.client import Store
from tracejury.collector.store.pending_traces import LOOKED_AT
from tracejury.collector.store.scope import TENANT
from tracejury.schemas.filters import JUDGED, OF_RUNS, OF_TRACES, STATE, STATUS
from tracejury.schemas.filters import conditions as conditions_of
from tracejury.schemas.queries.reader import TraceQuery
from tracejury.schemas.trace_status import status_sql

from .errors import filtered
from .findings import HOLDS, near, sure, thresholds
from .search import found_in
from .stated import stated

ARRIVED: Final = "toUnixTimestamp64Nano(ReceivedAt)"
DURATION: Final = "if(EndNanos > StartNanos, EndNanos - StartNanos, 0)"

_WHOLE: Final = "JoinedTo = ''"
EVERY: Final = f"{TENANT} AND {_WHOLE}"
"""The condition on every listed trace."""

_STORED: Final = (
    f"(TraceId IN (SELECT TraceId FROM spans WHERE {TENANT}) "
    f"OR TraceId IN (SELECT JoinedTo FROM traces FINAL WHERE {TENANT} AND JoinedTo != ''))"
)
"""Spans of the trace, or of one that is joined to it, are left: what is gone cannot be opened."""

_OF_TRACE: Final = (
    *OF_TRACES,
    JUDGED,
    STATE,
    replace(STATUS, condition=f"{status_sql('State', f'toUInt8(NOT {LOOKED_AT})')} = {{status:String}}"),
)

_OF_RUN: Final = "(id, name, role, model, inferred) -> {}, Runs.Id, Runs.Name, Runs.Role, Runs.Model, Runs.Inferred"
_RUNS: Final = f"arrayExists({_OF_RUN})"
_RUN_IDS: Final = f"arrayFilter({_OF_RUN})"


def conditions(query: TraceQuery, store: Store, *, of_sessions: bool = False) -> tuple[str, dict[str, Any]]:
    """Conditions on a trace, and their values. `of_sessions`: without state, status and duration, the session's own."""
    found, values = of_row(query, of_sessions=of_sessions)
    for text, more in beyond_row(query, store):
        found.append(text)
        values |= more
    return " AND ".join([TENANT, *found]), values


def of_row(query: TraceQuery, *, of_sessions: bool = False) -> tuple[list[str], dict[str, Any]]:
    """Those that a trace's own row tells, without the tenant."""
    asked, values = conditions_of((*OF_TRACES, JUDGED) if of_sessions else _OF_TRACE, query)
    found = [_WHOLE, *asked]
    times = [(f"{ARRIVED} >= {{since:Int64}}", "since"), (f"{ARRIVED} < {{until:Int64}}", "until")]
    if not of_sessions:
        times.append((f"{DURATION} >= {{min_duration:UInt64}}", "min_duration"))
    for text, name in times:
        if value := getattr(query, name):
            found.append(text)
            values[name] = value
    if (runs := _runs(query)) is not None:
        found.append(runs[0])
        values |= runs[1]
    return found, values


def beyond_row(query: TraceQuery, store: Store) -> list[tuple[str, dict[str, Any]]]:
    """Those that other rows tell, each with its values."""
    texts, values = stated(query, store, near(query))
    found: list[tuple[str, dict[str, Any]] | None] = [
        _errors(query),
        found_in(query),
        *((one, values) for one in texts),
    ]
    if store.is_incomplete:
        found.append((_STORED, {}))
    return [part for part in found if part is not None]


def _runs(query: TraceQuery) -> tuple[str, dict[str, Any]] | None:
    """One agent run has all that is asked of one."""
    asked, values = conditions_of(OF_RUNS, query)
    return (_RUNS.format(" AND ".join(asked)), values) if asked else None


def _errors(query: TraceQuery) -> tuple[str, dict[str, Any]] | None:
    """One error has all that is asked of one, in such a run and at such a tool."""
    asked, values = filtered(query)
    if not asked:
        return None
    asked_of_run, run_values = conditions_of(OF_RUNS, query)
    of_run = " AND ".join(asked_of_run)
    places = []
    if of_run:
        places.append(
            "(TraceId, AgentRunId) IN (SELECT TraceId, arrayJoin("
            f"{_RUN_IDS.format(of_run)}) FROM traces FINAL WHERE {TENANT} AND {_RUNS.format(of_run)})"
        )
    if query.tool:
        calls = (
            "SELECT TraceId, arrayJoin(arrayFilter((id, tool) -> tool = {tool:String}, Calls.SpanId, Calls.Tool)) "
            f"FROM traces FINAL WHERE {TENANT} AND has(Calls.Tool, {{tool:String}})"
        )
        places.append(f"((TraceId, SpanId) IN ({calls}) OR (TraceId, ShownAt) IN ({calls}))")
    inner = " AND ".join([TENANT, near(query), HOLDS, *asked, *places, sure(query.confidence)])
    found = f"TraceId IN (SELECT Whole FROM errors FINAL WHERE {inner})"
    return found, values | run_values | thresholds(query.confidence)
