"""Ids by their beginning. Trace ids are found by the sort key; session ids by a look at their column."""

from __future__ import annotations

from tracejury.collector.store.scope import TENANT, Scope

_TABLES = "traces", "spans"  # of one that waits to be judged there may be spans alone


def trace_ids_from(scope: Scope, prefix: str, limit: int) -> list[str]:
    """Up to `limit` ids of stored traces that begin so, in order. Raises RetryableError, StoreError."""
    each = (
        f"SELECT TraceId FROM {table} WHERE {TENANT} AND startsWith(TraceId, {{prefix:String}})" for table in _TABLES
    )
    rows = scope.select(
        f"SELECT DISTINCT TraceId FROM ({' UNION ALL '.join(each)}) ORDER BY TraceId LIMIT {{limit:UInt64}}",
        prefix=prefix,
        limit=limit,
    )
    return [row[0] for row in rows]


def session_ids_from(scope: Scope, prefix: str, limit: int) -> list[str]:
    """Up to `limit` ids of sessions that begin so, in order. Raises RetryableError, StoreError."""
    rows = scope.select(
        f"SELECT DISTINCT SessionId FROM traces WHERE {TENANT} AND startsWith(SessionId, {{prefix:String}}) "
        "ORDER BY SessionId LIMIT {limit:UInt64}",
        prefix=prefix,
        limit=limit,
    )
    return [row[0] for row in rows]
