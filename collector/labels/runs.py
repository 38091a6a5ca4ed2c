"""The agent runs that people may be asked to label, as parts of queries; each part holds the tenant's condition."""

from __future__ import annotations

from typing import Any, Final

from tracejury.collector.store.lists.findings import JOINED
from tracejury.collector.store.scope import TENANT
from tracejury.schemas.findings import BESIDE
from tracejury.schemas.profiles import DEFAULT_PROFILE, threshold
from tracejury.schemas.text.moments import LAST

_ARRIVED: Final = (
    "JoinedTo = '' AND State != 'open' AND ReceivedAt >= fromUnixTimestamp64Nano({since:Int64}, 'UTC') "
    "AND ReceivedAt < fromUnixTimestamp64Nano({until:Int64}, 'UTC') AND {service:String} IN ('', ServiceName) "
    "AND Simulated = {simulated:UInt8}"
)

MAYBE: Final = (
    f"TraceId IN (SELECT TraceId FROM traces WHERE {TENANT} "
    "AND (JoinedTo != '' OR ReceivedAt >= fromUnixTimestamp64Nano({since:Int64}, 'UTC')))"
)
"""A condition that spares reading rows of other times; too many fulfil it, so the result has to be joined to `RUNS`.

As PREWHERE it also spares merging them; since rows are merged by trace id, the others are as they were.
"""

RUNS: Final = f"""(
    SELECT TraceId, ServiceName AS Service, ReceivedAt AS At, run.1 AS RunId, run.2 AS Agent
    FROM traces FINAL ARRAY JOIN arrayZip(Runs.Id, Runs.Name) AS run PREWHERE {TENANT} AND {MAYBE}
    WHERE {_ARRIVED}
) AS runs"""
"""Judged runs of closed traces that arrived in that time, of real sessions or of simulated ones."""

REVIEWED: Final = f"""(
    SELECT TraceId, AgentRunId AS RunId, countIf(Annotator = {{annotator:String}}) AS Mine,
        countIf(Probability > 0) AS Drawn, countIf(Probability > 0 AND Annotator = {{annotator:String}}) AS MyDraws
    FROM reviews FINAL WHERE {TENANT} AND NOT Withdrawn GROUP BY TraceId, RunId
) AS reviewed USING (TraceId, RunId)"""
"""Reviews of a run: those of one annotator, those that the calibration queue drew, and both."""

FOUND: Final = f"""
    SELECT if(Whole = '', own, Whole) AS TraceId, AgentRunId AS RunId, SpanId, Id, Fingerprint, Judge,
        JudgedBy, Category, Severity, Confidence, Taxonomy
    FROM (
        SELECT TraceId AS own, AgentRunId, SpanId, Id, Fingerprint, Judge, JudgedBy, Category, Severity, Confidence,
            Taxonomy
        FROM findings FINAL PREWHERE {TENANT} AND {MAYBE}
        WHERE State IN ('current', 'provisional') AND AgentRunId != ''
    ) AS found LEFT JOIN ({JOINED}) AS parts ON found.own = parts.Part
"""
"""Findings that hold in these runs and maybe in others, however sure; each at the trace under which its run shows."""

SHOWN: Final = f"SELECT * FROM ({FOUND}) WHERE Confidence >= {{balanced:Float64}} AND NOT {BESIDE}"
"""Those of them that the balanced profile shows and rates count: of packs' checks none."""

OPINIONS: Final = f"""
    SELECT if(Whole = '', own, Whole) AS TraceId, AgentRunId AS RunId, FindingId, Fingerprint, Opinion,
        Annotator, Judge, Category
    FROM (
        SELECT TraceId AS own, AgentRunId, FindingId, Fingerprint, Opinion, Annotator, Judge, Category, Withdrawn
        FROM annotations FINAL WHERE {TENANT} AND {MAYBE} AND AgentRunId != '' AND Opinion != 'missed'
        ORDER BY ChangedAt DESC, Withdrawn DESC LIMIT 1 BY TraceId, Id
    ) AS said LEFT JOIN ({JOINED}) AS parts ON said.own = parts.Part
    WHERE NOT Withdrawn
"""
"""Annotations of findings in these runs, and perhaps in others."""


def bounds(since: int, until: int, service: str, *, simulated: bool = False) -> dict[str, Any]:
    """The values that these parts need, but for `annotator`."""
    # What the engine's type of time can hold; other numbers come round again, or are refused.
    times = {name: min(max(at, 0), LAST) for name, at in (("since", since), ("until", until))}
    return {**times, "service": service, "simulated": int(simulated), "balanced": threshold(DEFAULT_PROFILE)}
