"""Derives the errors and facts of traces that an earlier version judged, a page at a time, while the collector serves.

The table `underived` says how far that has come, so that the next process goes on there. All of it blocks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from tracejury.collector.store.client import Store
from tracejury.collector.store.inserting import insert_rows, storing
from tracejury.collector.store.scope import TENANT, Scope
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.errors import RetryableError

from .deriving import derive, derive_until_stable

PAGE: Final = 128
"""Traces that are derived at once: judging waits meanwhile."""

_COLUMNS: Final = ("tenant", "After", "Since", "Done", "NotedAt")
_LEFT: Final = "SELECT tenant, After, Since FROM underived FINAL ORDER BY tenant, Since"
_ANY: Final = f"SELECT 1 FROM underived FINAL WHERE {TENANT} LIMIT 1"
_NEXT: Final = f"""
SELECT DISTINCT TraceId FROM traces WHERE {TENANT} AND TraceId > {{after:String}}
ORDER BY TraceId LIMIT {{limit:UInt64}}
"""
# Their deletion was interrupted, or nothing was derived after it.
_DELETED: Final = f"""
SELECT DISTINCT TraceId FROM run_facts FINAL
WHERE {TENANT} AND TraceId NOT IN (SELECT TraceId FROM traces WHERE {TENANT})
"""


def require_derived(store: Store, tenant: str) -> None:
    """Raises RetryableError while traces of an earlier version are left, StoreError where the store fails."""
    if Scope(store, tenant).select(_ANY):
        raise RetryableError("error rates are still being made of what was stored before", retry_after=5.0)


def rederive(store: SharedStore, clock: Callable[[], int] = time.time_ns) -> Iterator[int]:
    """Derive what is left, page by page; gives how many traces each page had. Raises RetryableError, StoreError."""
    for tenant, after, since in store.rows(_LEFT):
        scope = Scope(store, tenant)
        if not after:
            gone = [row[0] for row in scope.select(_DELETED)]
            for first in range(0, len(gone), PAGE):
                derive_again(store, tenant, gone[first : first + PAGE])
                yield PAGE
        page = [row[0] for row in scope.select(_NEXT, after=after, limit=PAGE)]
        while page:
            derive_again(store, tenant, page)
            _note(store, tenant, page[-1], since, 0, clock())
            yield len(page)
            page = [row[0] for row in scope.select(_NEXT, after=page[-1], limit=PAGE)]
        _note(store, tenant, after, since, 1, clock())


def derive_again(store: SharedStore, tenant: str, trace_ids: Sequence[str]) -> None:
    """Derive the errors and facts of these traces from what is stored of them. Raises RetryableError, StoreError."""
    with storing("errors"), store.deletions.writing(), store.derivation:
        keys = [(tenant, trace_id) for trace_id in trace_ids]
        derive(store, keys)
        derive_until_stable(store, keys)


def _note(store: Store, tenant: str, after: str, since: int, done: int, now: int) -> None:
    with storing("how far errors have come"):
        insert_rows(store, "underived", _COLUMNS, [(tenant, after, since, done, now)])
