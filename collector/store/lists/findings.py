"""Findings as lists of traces ask for them: those that hold and are sure enough, told under a joined run's one trace.

Conditions are fixed texts; whatever a user typed is a bound parameter.
"""

from __future__ import annotations

from typing import Any, Final

from ....schemas.filters import OF_FINDINGS, conditions
from ....schemas.queries.reader import Confidence, TraceQuery
from ....schemas.taxonomy import Severity
from ..scope import TENANT

HOLDS: Final = "State IN ('current', 'provisional')"

# The inner look without FINAL finds the few that may be meant; the outer one then reads these alone.
JOINED: Final = (
    f"SELECT TraceId AS Part, JoinedTo AS Whole FROM traces FINAL WHERE {TENANT} AND JoinedTo != '' "
    f"AND TraceId IN (SELECT TraceId FROM traces WHERE {TENANT} AND JoinedTo != '')"
)
"""Traces that show under another one's id."""

BITS: Final = 20
"""Of a count of findings in a sort value: three severities fit one number."""
_TOP: Final = 2**BITS - 1


def sure(confidence: Confidence, place: str = "1") -> str:
    """The condition that a finding is as sure as asked. `place`: the traces in question, to keep the look-up small."""
    if confidence.recognised == confidence.unrecognised:
        return "Confidence >= {recognised:Float64}"
    maybe = f"SELECT TraceId FROM traces WHERE {TENANT} AND {place} AND empty(Conventions)"
    unknown = f"SELECT TraceId FROM traces FINAL WHERE {TENANT} AND empty(Conventions) AND TraceId IN ({maybe})"
    return f"Confidence >= if(TraceId IN ({unknown}), {{unrecognised:Float64}}, {{recognised:Float64}})"


def thresholds(confidence: Confidence) -> dict[str, Any]:
    """The parameters of `sure`."""
    return {"recognised": confidence.recognised, "unrecognised": confidence.unrecognised}


def whole(found: str) -> str:
    """The condition that a trace is one of those that `found` (a SELECT of trace ids) gives, or shows one of them."""
    return f"(TraceId IN ({found}) OR TraceId IN (SELECT Whole FROM ({JOINED}) WHERE Part IN ({found})))"


def counts(confidence: Confidence, place: str = "1") -> str:
    """A SELECT of the findings of each trace by severity: `Id`, `High`, `Medium`, `Low`."""
    return (
        "SELECT if(Whole = '', TraceId, Whole) AS Id, countIf(Severity = 'HIGH') AS High, "
        "countIf(Severity = 'MEDIUM') AS Medium, countIf(Severity = 'LOW') AS Low "
        f"FROM (SELECT TraceId, Severity FROM findings FINAL WHERE {TENANT} AND {place} AND {HOLDS} "
        f"AND {sure(confidence, place)}) AS found LEFT JOIN ({JOINED}) AS parts ON found.TraceId = parts.Part "
        "GROUP BY Id"
    )


def worst(high: str, medium: str, low: str) -> str:
    """Counts as one number that orders by the worst first."""
    return (
        f"toUInt64(bitShiftLeft(least({high}, {_TOP}), {2 * BITS}) + bitShiftLeft(least({medium}, {_TOP}), {BITS}) "
        f"+ least({low}, {_TOP}))"
    )


def near(query: TraceQuery) -> str:
    """A condition on a trace id that spares reading findings of other times and services; too many may fulfil it."""
    asked = []
    if query.since:
        asked.append("toUnixTimestamp64Nano(ReceivedAt) >= {since:Int64}")
    if query.service:
        asked.append("ServiceName = {service:String}")
    if not asked:
        return "1"
    text = " AND ".join(asked)
    return f"TraceId IN (SELECT TraceId FROM traces WHERE {TENANT} AND (JoinedTo != '' OR ({text})))"


def filtered(query: TraceQuery) -> tuple[list[str], dict[str, Any]]:
    """Conditions on one finding that the query asks for; none where it asks for none."""
    asked, values = conditions(OF_FINDINGS, query)
    if query.severity is not None:
        asked.append("Severity IN {severities:Array(String)}")
        values["severities"] = [s.value for s in Severity if s.rank >= query.severity.rank]
    return asked, values
