"""Traces that another process deletes while this one writes of them, on a server. All of it blocks.

A deletion first stores which traces it deletes, then deletes their spans, then all that was made of them. Whoever
writes of a trace looks for its deletion afterwards: either it is found, and what was written is deleted here, or it
begins later, and deletes what was written. No clock decides.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from tracejury.processors.assemble import TraceKey

from .scope import TENANT, Scope
from .shared_store import SharedStore
from .trace_deleter import TraceDeleter

# Over all tenants: that something is deleted is the collector's own affair.
_DELETED: Final = """
SELECT tenant, TraceId, max(Until) FROM deletions
WHERE TraceId IN {trace_ids:Array(String)} AND Until >= {least:UInt64} GROUP BY tenant, TraceId
"""
_STORED: Final = " UNION DISTINCT ".join(
    f"SELECT TraceId FROM {table} WHERE {TENANT} AND TraceId IN {{trace_ids:Array(String)}}"
    for table in ("spans", "logs")
)
_ARRIVED: Final = "tenant = {tenant:String} AND TraceId IN {trace_ids:Array(String)}"


def delete_made(store: SharedStore, written: Mapping[TraceKey, int]) -> None:
    """Delete what was just made of traces that are deleted by now; each with the arrivals that it saw (unix nanos).

    What has spans again is another trace of that id, and stays. Do not call it within `Deletions.writing`.

    Raises RetryableError, StoreError: writing it again is safe.
    """
    found = _deleted(store, written, 0)
    for tenant in {tenant for tenant, _ in found}:
        ids = {trace_id for owner, trace_id in found if owner == tenant}
        ids -= {row[0] for row in Scope(store, tenant).select(_STORED, trace_ids=sorted(ids))}
        if ids:
            keys = [(tenant, trace_id) for trace_id in ids]
            through, until = max(written[key] for key in keys), max(found[key] for key in keys)
            store.deletions.hold(keys, max(through, until))
            try:
                TraceDeleter(store, tenant).delete(ids, through, until=until)
            finally:
                store.deletions.let_go(keys)


def delete_arrived(store: SharedStore, keys: Collection[TraceKey], now: int) -> None:
    """Delete what has just arrived of traces that stay deleted, and leave them out from now on (unix nanos).

    Raises RetryableError, StoreError: nothing is to be acknowledged.
    """
    found = _deleted(store, keys, now)
    for tenant in {tenant for tenant, _ in found}:
        own = [key for key in found if key[0] == tenant]
        values = {"tenant": tenant, "trace_ids": sorted(trace_id for _, trace_id in own)}
        for table in ("spans", "logs", "media", "scores"):
            store.command(f"DELETE FROM {table} WHERE {_ARRIVED}", values, mutated=table)
    for key, until in found.items():
        store.tombstones.add([key], until)


def _deleted(store: SharedStore, keys: Collection[TraceKey], least: int) -> dict[TraceKey, int]:
    """Those of these traces that were deleted, each with the time until which it stays so, from `least` on."""
    if store.embedded or not keys:
        return {}
    rows = store.rows(_DELETED, {"trace_ids": sorted({trace_id for _, trace_id in keys}), "least": least})
    return {(tenant, trace_id): until for tenant, trace_id, until in rows if (tenant, trace_id) in keys}
