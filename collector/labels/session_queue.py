"""The sessions to label next: a simple random sample, by a hash of service and session id."""

from __future__ import annotations

from typing import Final

from tracejury.collector.store.scope import TENANT, Scope
from tracejury.schemas.annotations import GENERATOR
from tracejury.schemas.queries.labels import QueueItem, QueueQuery
from tracejury.schemas.text.counting import counted

from .runs import MAYBE, bounds

_HASH: Final = "SHA256(concat('label session\\0', Service, '\\0', Session))"
_SHARED: Final = f"reinterpretAsUInt64(substring({_HASH}, 9, 8)) / pow(2, 64)"
_UNLABELLED: Final = f"""
SELECT Service, Session, Traces
FROM (
    SELECT ServiceName AS Service, if(SessionId = '', TraceId, SessionId) AS Session, count() AS Traces
    FROM traces FINAL PREWHERE {TENANT} AND {MAYBE}
    WHERE JoinedTo = '' AND {{service:String}} IN ('', ServiceName) AND Simulated = {{simulated:UInt8}}
    GROUP BY Service, Session
    HAVING countIf(State = 'open') = 0 AND sum(length(Runs.Id)) > 0
        AND max(ReceivedAt) >= fromUnixTimestamp64Nano({{since:Int64}}, 'UTC')
        AND max(ReceivedAt) < fromUnixTimestamp64Nano({{until:Int64}}, 'UTC')
) AS sessions
LEFT JOIN (
    SELECT Service, SessionId AS Session, countIf(Annotator = {{annotator:String}}) AS Mine, count() AS Said
    FROM session_labels FINAL WHERE {TENANT} AND NOT Withdrawn AND Annotator != '{GENERATOR}'
    GROUP BY Service, Session
) AS labels USING (Service, Session)
WHERE Mine = 0 AND (Said = 0 OR ({{annotator:String}} != '' AND {_SHARED} < {{overlap:Float64}}))
ORDER BY {_HASH}, Service, Session LIMIT {{limit:UInt64}}
"""
"""Sessions with agent runs, none of whose traces is open, by their latest arrival."""


def session_queue(scope: Scope, query: QueueQuery) -> list[QueueItem]:
    """Up to `limit` sessions that the annotator has not labelled, in the order in which to look at them."""
    about = bounds(query.since, query.until, query.service, simulated=query.simulated)
    values = {"annotator": query.annotator, "overlap": query.overlap, "limit": query.limit}
    return [
        QueueItem("", "", service, "", f"drawn at random; {counted(traces, 'trace')}", session_id=session)
        for service, session, traces in scope.select(_UNLABELLED, **about, **values)
    ]
