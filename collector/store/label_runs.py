"""The agent runs that people may be asked to label, as parts of queries; each part holds the tenant's condition."""

from __future__ import annotations

from typing import Any, Final

from ...judges.profiles import DEFAULT_PROFILE, threshold
from .scope import TENANT

_ARRIVED: Final = (
    "JoinedTo = '' AND State != 'open' AND ReceivedAt >= fromUnixTimestamp64Nano({since:Int64}, 'UTC') "
    "AND ReceivedAt < fromUnixTimestamp64Nano({until:Int64}, 'UTC') AND {service:String} IN ('', ServiceName)"
)

TRACES: Final = f"SELECT TraceId FROM traces FINAL WHERE {TENANT} AND {_ARRIVED}"

RUNS: Final = f"""(
    SELECT TraceId, ServiceName AS Service, run.1 AS RunId, run.2 AS Agent
    FROM traces FINAL ARRAY JOIN arrayZip(Runs.Id, Runs.Name) AS run WHERE {TENANT} AND {_ARRIVED}
) AS runs"""
"""Judged runs of closed traces that arrived in that time."""

REVIEWED: Final = f"""(
    SELECT TraceId, AgentRunId AS RunId, count() AS Reviews, countIf(Annotator = {{annotator:String}}) AS Mine,
        countIf(Probability > 0) AS Drawn
    FROM reviews FINAL WHERE {TENANT} AND NOT Withdrawn GROUP BY TraceId, RunId
) AS reviewed USING (TraceId, RunId)"""

HOLDS: Final = "State IN ('current', 'provisional') AND AgentRunId != '' AND Confidence >= {balanced:Float64}"
"""Findings that the balanced profile shows in agent runs."""


def bounds(since: int, until: int, service: str) -> dict[str, Any]:
    """The values that these parts need, but for `annotator`."""
    # What the engine's type of time can hold; it takes no other number.
    times = {"since": max(since, 0), "until": min(until, 2**63 - 1)}
    return {**times, "service": service, "balanced": threshold(DEFAULT_PROFILE)}
