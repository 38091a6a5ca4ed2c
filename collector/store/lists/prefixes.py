"""Ids by their beginning. Trace ids are found by the sort key; session ids by a look at their column."""

from __future__ import annotations

from tracejury.collector.store.scope import TENANT, Scope

from .pending import list_pending


def trace_ids_from(scope: Scope, prefix: str, limit: int) -> list[str]:
    """Up to `limit` ids of stored traces that begin so, in order. Raises RetryableError, StoreError."""
    list_pending(scope.store)
    return _from(scope, "TraceId", prefix, limit)


def session_ids_from(scope: Scope, prefix: str, limit: int) -> list[str]:
    """Up to `limit` ids of sessions that begin so, in order. Raises RetryableError, StoreError."""
    return _from(scope, "SessionId", prefix, limit)


def _from(scope: Scope, column: str, prefix: str, limit: int) -> list[str]:
    rows = scope.select(
        f"SELECT DISTINCT {column} FROM traces WHERE {TENANT} AND startsWith({column}, {{prefix:String}}) "
        f"ORDER BY {column} LIMIT {{limit:UInt64}}",
        prefix=prefix,
        limit=limit,
    )
    return [row[0] for row in rows]
