"""Figures of the sessions that people have compared. All of it blocks."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from tracejury.schemas.judged_rows import STANDS
from tracejury.schemas.simulation import USER_FAILED
from tracejury.schemas.verdicts import SubjectKind

from .lists.stated import values_at
from .scope import TENANT, Scope

_COMPARED: Final = f"(SELECT Service, arrayJoin([SessionId, OtherSessionId]) FROM preferences WHERE {TENANT})"
_VALUES: Final = f"""
SELECT JSONExtractString(SubjectId, 1) AS OfService, JSONExtractString(SubjectId, 2) AS OfSession, Judge, Value
FROM verdicts FINAL WHERE {TENANT} AND TraceId = '' AND SubjectKind = '{SubjectKind.SESSION}' AND {STANDS}
AND isNotNull(Value) AND (OfService, OfSession) IN {_COMPARED}
"""
_THEIRS: Final = f"FROM traces FINAL WHERE {TENANT} AND (ServiceName, SessionId) IN {_COMPARED}"
_SCORES: Final = f"""
SELECT ServiceName, SessionId, Judge, avg(Score)
FROM (SELECT TraceId, ServiceName, SessionId {_THEIRS}) AS own
JOIN
(
    SELECT TraceId, Judge, Score FROM verdicts FINAL
    WHERE {TENANT} AND SubjectKind = '{SubjectKind.AGENT_RUN}' AND {STANDS} AND isNotNull(Score)
    AND TraceId IN (SELECT TraceId {_THEIRS})
) AS said ON own.TraceId = said.TraceId
GROUP BY ServiceName, SessionId, Judge
"""

_FAILED: Final = f"""
SELECT DISTINCT ServiceName, SessionId
FROM (SELECT TraceId, ServiceName, SessionId {_THEIRS}) AS own
JOIN
(
    SELECT DISTINCT TraceId FROM spans FINAL
    WHERE {TENANT} AND TraceId IN (SELECT TraceId {_THEIRS}) AND arrayExists(v -> v != '', {values_at("{key:String}")})
) AS failed ON own.TraceId = failed.TraceId
"""

SessionFigures = defaultdict[tuple[str, str], dict[str, float]]
"""By service and session id, a figure by judge."""


def check_values(scope: Scope) -> SessionFigures:
    """The values that checks gave to sessions as a whole, 0 to 1. Raises RetryableError, StoreError."""
    return _figures(scope, _VALUES)


def mean_scores(scope: Scope) -> SessionFigures:
    """The mean score, 0 to 3, that each LLM judge gave to the runs of a session. Raises RetryableError, StoreError."""
    return _figures(scope, _SCORES)


def failed_users(scope: Scope) -> set[tuple[str, str]]:
    """The sessions whose user's model failed, by service and id. Raises RetryableError, StoreError."""
    return {(service, session_id) for service, session_id in scope.select(_FAILED, key=USER_FAILED)}


def _figures(scope: Scope, sql: str) -> SessionFigures:
    found: SessionFigures = defaultdict(dict)
    for service, session_id, judge, figure in scope.select(sql):
        found[service, session_id][judge] = figure
    return found
