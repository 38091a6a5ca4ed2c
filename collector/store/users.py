"""The traces of a user: those that name the user, and the rest of their sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from .lists.pending import list_pending
from .scope import TENANT, Scope
from .shared_store import SharedStore

# OpenInference has one attribute with JSON for what an application says of itself.
_NAMED: Final = """arrayConcat(arrayMap(key -> {attributes}[key], {{keys:Array(String)}}),
    arrayMap(key -> ResourceAttributes[key], {{keys:Array(String)}}),
    arrayMap(key -> replaceAll(JSONExtractRaw({attributes}['metadata'], key), '"', ''), ['user_id', 'userId']))"""
_TABLES: Final = {"spans": "SpanAttributes", "logs": "LogAttributes"}

_OF_USER: Final = " UNION DISTINCT ".join(
    f"SELECT TraceId FROM {table} WHERE {TENANT} AND hasAny({_NAMED.format(attributes=attributes)}, "
    "{users:Array(String)}) AND TraceId != ''"
    for table, attributes in _TABLES.items()
)
_IN_SESSIONS: Final = f"""
SELECT TraceId FROM traces FINAL WHERE {TENANT} AND SessionId != '' AND (ServiceName, SessionId) IN (
    SELECT ServiceName, SessionId FROM traces FINAL WHERE {TENANT} AND TraceId IN {{trace_ids:Array(String)}})
"""
_OF_OTHERS: Final = " UNION DISTINCT ".join(
    f"SELECT TraceId FROM {table} WHERE {TENANT} AND TraceId IN {{trace_ids:Array(String)}} AND arrayExists("
    f"name -> name != '' AND NOT has({{users:Array(String)}}, name), {_NAMED.format(attributes=attributes)})"
    for table, attributes in _TABLES.items()
)


class StoredUsers:
    """One tenant's users. `keys`: the attributes that name one. Raises RetryableError, StoreError."""

    def __init__(self, store: SharedStore, keys: Sequence[str], tenant: str = "") -> None:
        self._store, self._keys, self._scope = store, list(keys), Scope(store, tenant)

    def traces_of(self, users: Sequence[str]) -> list[str]:
        """The traces that name one of these (the names of one user), and those of their sessions that name no other.

        Reads the attributes of all spans: seconds a gigabyte.
        """
        values: dict[str, Any] = {"keys": self._keys, "users": list(users)}
        named = {row[0] for row in self._scope.select(_OF_USER, **values)}
        if not named:
            return []
        list_pending(self._store)
        near = {row[0] for row in self._scope.select(_IN_SESSIONS, trace_ids=sorted(named))} - named
        others = {row[0] for row in self._scope.select(_OF_OTHERS, trace_ids=sorted(near), **values)} if near else set()
        return sorted(named | (near - others))
