"""Ids by their beginning. Trace ids are found by the sort key; session ids by a look at their column."""

from __future__ import annotations

from ..client import Store
from ..scope import TENANT, Scope
from .pending import list_pending


def trace_ids_from(store: Store, prefix: str, limit: int, tenant: str = "") -> list[str]:
    """Up to `limit` ids of stored traces that begin so, in order. Raises RetryableError, StoreError."""
    list_pending(store)
    return _from(store, "TraceId", prefix, limit, tenant)


def session_ids_from(store: Store, prefix: str, limit: int, tenant: str = "") -> list[str]:
    """Up to `limit` ids of sessions that begin so, in order. Raises RetryableError, StoreError."""
    return _from(store, "SessionId", prefix, limit, tenant)


def _from(store: Store, column: str, prefix: str, limit: int, tenant: str) -> list[str]:
    rows = Scope(store, tenant).select(
        f"SELECT DISTINCT {column} FROM traces WHERE {TENANT} AND startsWith({column}, {{prefix:String}}) "
        f"ORDER BY {column} LIMIT {{limit:UInt64}}",
        prefix=prefix,
        limit=limit,
    )
    return [row[0] for row in rows]
