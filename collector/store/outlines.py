"""Stored outlines of large traces, so that their pages open without rebuilding the trace. All of it blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from .inserting import store_rows
from .scope import TENANT, TenantRows

_COLUMNS: Final = ("tenant", "TraceId", "Outline", "ReceivedAt")

_NEWEST: Final = f"""
SELECT TraceId, max(at), max(span) FROM
(
    SELECT TraceId, max(toUnixTimestamp64Nano(ReceivedAt)) AS at, 1 AS span FROM spans
    WHERE {TENANT} AND TraceId IN {{trace_ids:Array(String)}} GROUP BY TraceId
    UNION ALL
    SELECT TraceId, max(toUnixTimestamp64Nano(ReceivedAt)) AS at, 0 AS span FROM logs
    WHERE {TENANT} AND TraceId IN {{trace_ids:Array(String)}} GROUP BY TraceId
)
GROUP BY TraceId HAVING max(span) = 1
"""


class StoredOutlines(TenantRows):
    """Outlines of one tenant's traces, each as the text that it was given."""

    def newest(self, trace_ids: Sequence[str]) -> Mapping[str, int]:
        """When the newest row of each trace arrived (unix nanos); absent: it has no spans."""
        rows = self._scope.select(_NEWEST, trace_ids=list(trace_ids))
        return {trace_id: at for trace_id, at, _ in rows}

    def load(self, trace_ids: Sequence[str]) -> list[str]:
        """The outlines kept under these ids, the latest first."""
        sql = (
            f"SELECT Outline FROM outlines FINAL WHERE {TENANT} AND TraceId IN {{trace_ids:Array(String)}} "
            "ORDER BY ReceivedAt DESC, TraceId"
        )
        return [row[0] for row in self._scope.select(sql, trace_ids=list(trace_ids))]

    def keep(self, trace_id: str, outline: str, received_through: int) -> None:
        """Keep the outline of a trace as it was with the rows that had arrived by then (unix nanos).

        Raises:
            RetryableError, StoreError: the store failed.
        """
        row = (self._scope.tenant, trace_id, outline, received_through)
        store_rows(self._store, "outlines", "outlines", _COLUMNS, [row])
