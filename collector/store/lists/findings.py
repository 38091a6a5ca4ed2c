"""Findings as lists ask for them: those that hold and are sure enough, told under a joined run's one trace.

Conditions are fixed texts; whatever a user typed is a bound parameter.
"""

from __future__ import annotations

from typing import Any, Final

from tracejury.collector.store.scope import TENANT
from tracejury.schemas.queries.reader import Confidence, TraceQuery

HOLDS: Final = "State IN ('current', 'provisional')"

# The inner look without FINAL finds the few that may be meant; the outer one then reads these alone.
JOINED: Final = (
    f"SELECT TraceId AS Part, JoinedTo AS Whole FROM traces FINAL WHERE {TENANT} AND JoinedTo != '' "
    f"AND TraceId IN (SELECT TraceId FROM traces WHERE {TENANT} AND JoinedTo != '')"
)
"""Traces that show under another one's id."""


def least(confidence: Confidence, place: str = "1") -> str:
    """The least confidence that is asked. `place`: the traces in question, to keep the look-up small."""
    if confidence.recognised == confidence.unrecognised:
        return "{recognised:Float64}"
    maybe = f"SELECT TraceId FROM traces WHERE {TENANT} AND {place} AND empty(Conventions)"
    unknown = f"SELECT TraceId FROM traces FINAL WHERE {TENANT} AND empty(Conventions) AND TraceId IN ({maybe})"
    return f"if(TraceId IN ({unknown}), {{unrecognised:Float64}}, {{recognised:Float64}})"


def sure(confidence: Confidence, place: str = "1", column: str = "Confidence") -> str:
    """The condition that a finding is as sure as asked."""
    return f"{column} >= {least(confidence, place)}"


def thresholds(confidence: Confidence) -> dict[str, Any]:
    """The parameters of `sure`."""
    return {"recognised": confidence.recognised, "unrecognised": confidence.unrecognised}


def whole(found: str) -> str:
    """The condition that a trace is one of those that `found` (a SELECT of trace ids) gives, or shows one of them."""
    return f"(TraceId IN ({found}) OR TraceId IN (SELECT Whole FROM ({JOINED}) WHERE Part IN ({found})))"


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
