"""Deleted traces that stay deleted: their spans are left out when they are sent again."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable
from typing import Final

from tracejury.processors.assemble import TraceKey
from tracejury.schemas.batch import Batch

from .client import Store

_KNOWN: Final = "SELECT tenant, TraceId, max(Until) FROM deletions WHERE Until > {now:UInt64} GROUP BY tenant, TraceId"


class Tombstones:
    """Traces (tenant and id) with the time until which they stay deleted (unix nanos); safe from any thread.

    Each takes about 300 bytes of memory.
    """

    def __init__(self) -> None:
        self._until: dict[TraceKey, int] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._until)

    def load(self, store: Store, now: int) -> None:
        """Read those that still hold. Raises RetryableError, StoreError."""
        found = {(tenant, trace): until for tenant, trace, until in store.rows(_KNOWN, {"now": now})}
        with self._lock:
            self._until = found

    def add(self, keys: Collection[TraceKey], until: int) -> None:
        """From now on spans of these are left out, until then."""
        with self._lock:
            self._until.update((key, max(until, self._until.get(key, 0))) for key in keys)

    def until(self, keys: Iterable[TraceKey]) -> int:
        """The latest time of these; 0 without any."""
        with self._lock:
            return max((self._until.get(key, 0) for key in keys), default=0)

    def expire(self, now: int) -> None:
        """Forget those whose time is over."""
        with self._lock:
            self._until = {key: until for key, until in self._until.items() if until > now}

    def left_of(self, batch: Batch, now: int) -> Batch:
        """The batch without the spans and log records of these traces; itself where it has none."""
        if not self._until:
            return batch
        keys = {(item.tenant, item.trace_id) for items in (batch.spans, batch.logs) for item in items}
        with self._lock:
            gone = {key for key in keys if self._until.get(key, 0) > now}
        return batch.without(gone) if gone else batch
