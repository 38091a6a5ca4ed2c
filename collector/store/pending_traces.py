"""Traces that have stored spans and were never judged: lists show them, too.

Each gets a row in `traces` that says as much as its spans do, with 0 as the time of its judging: any judging replaces
it. The rows are written when somebody asks for a list, since most traces are judged before anybody does.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ...processors.assemble import TraceKey
from ...schemas.errors import TracejuryError

if TYPE_CHECKING:
    from .client import Store

log = logging.getLogger(__name__)

MOST: Final = 1000
"""Traces that are named in one statement; more are looked for by their arrival."""

JUDGED: Final = "JudgedAt > 0"
"""The condition on rows of `traces` that a judging wrote."""

# Over all tenants: that a trace waits is the collector's own affair.
_LIST: Final = f"""
INSERT INTO traces (tenant, TraceId, ServiceName, State, Name, StartNanos, EndNanos, Spans, JudgedAt, ReceivedAt)
SELECT tenant, TraceId, argMin(ServiceName, (StartNanos, SpanId)), 'open',
    argMin(SpanName, (ParentSpanId != '', StartNanos, SpanId)), min(StartNanos), max(EndNanos), uniqExact(SpanId), 0,
    max(ReceivedAt)
FROM spans
WHERE {{which}} AND TraceId NOT IN {{{{deleting:Array(String)}}}}
    AND (tenant, TraceId) NOT IN (SELECT tenant, TraceId FROM traces WHERE {{which}} AND {JUDGED})
GROUP BY tenant, TraceId
"""
_NAMED: Final = _LIST.format(which="TraceId IN {trace_ids:Array(String)}")
_ARRIVED: Final = _LIST.format(
    which="TraceId IN (SELECT TraceId FROM spans WHERE ReceivedAt >= fromUnixTimestamp64Nano({since:Int64}))"
)
_ALL: Final = _LIST.format(which="1")


@dataclass(frozen=True, slots=True)
class UnlistedTraces:
    """Traces that lists may lack: those of `keys`, and where `since` is given all that arrived since (unix nanos)."""

    keys: Collection[TraceKey]
    since: int | None


class PendingTraces:
    """Traces whose spans this process stored and that lists may lack; safe from any thread.

    Those of an earlier process, and any beyond `MOST`, are looked for in the store.
    """

    def __init__(self) -> None:
        self.listing = threading.Lock()
        """Held while rows are written, so that a list that is asked for meanwhile has them, too."""
        self._keys: dict[TraceKey, int] = {}
        self._since: int | None = 0
        self._lock = threading.Lock()

    def arrived(self, keys: Iterable[TraceKey], at: int) -> None:
        """Spans of these were committed, with that time of arrival (unix nanos)."""
        with self._lock:
            for key in keys:
                self._keys.setdefault(key, at)
            if len(self._keys) > MOST:
                self._look_since(min(self._keys.values()))
                self._keys.clear()

    def judged(self, keys: Iterable[TraceKey]) -> None:
        """These have the row of a judging."""
        with self._lock:
            for key in keys:
                self._keys.pop(key, None)

    def look_since(self, since: int) -> None:
        """There may be others that arrived since then (unix nanos)."""
        with self._lock:
            self._look_since(since)

    def take(self) -> UnlistedTraces:
        """The traces that lists may lack; they are then no longer remembered."""
        with self._lock:
            taken = UnlistedTraces(list(self._keys), self._since)
            self._keys.clear()
            self._since = None
            return taken

    def _look_since(self, since: int) -> None:
        self._since = since if self._since is None else min(since, self._since)


def list_pending(store: Store) -> None:
    """Have lists show every trace with committed spans. A store that cannot be written to is no reason not to list."""
    with store.pending.listing:
        unlisted = store.pending.take()
        try:
            with store.changes.writing():
                values: dict[str, Any] = {"deleting": sorted(store.changes.deleting())}
                if unlisted.since is not None:
                    store.command(_ARRIVED if unlisted.since else _ALL, values | {"since": unlisted.since})
                if unlisted.keys:
                    store.command(_NAMED, values | {"trace_ids": sorted({trace_id for _, trace_id in unlisted.keys})})
        except TracejuryError as error:
            store.pending.look_since(0)
            log.warning("lists lack traces that were not judged yet: %s", error)
