"""Deletion of traces: from the store, from memory, and from the queues of judges, webhooks and backends."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Final, Protocol

from ...processors.assemble import TraceKey
from ...schemas.queries.deletion import DeleteQuery
from .client import Store
from .lists.pending import list_pending
from .scope import TENANT, Scope
from .session_deletion import SessionName, delete_sessions, empty_answers

PAGE: Final = 500
"""Traces that are deleted together."""

_ARRIVED: Final = ("spans", "logs")
"""Received rows; those that arrive later stay, and begin the trace anew."""

_MADE: Final = (
    "texts",
    "outlines",
    "joins",
    "verdicts",
    "findings",
    "errors",
    "judgements",
    "deliveries",
    "exports",
    "traces",
)
"""Derived rows; `traces` last, so that a deletion that was interrupted finds the trace again.

`deliveries` and `exports` go after the findings: without them the next process would send the findings once more.
"""

_LABELS: Final = ("annotations", "human_scores", "reviews")
"""The tables of human labels."""

_ANYTHING: Final = ("spans", "logs", "traces")

_IN_THESE: Final = "TraceId IN {trace_ids:Array(String)}"
_THESE: Final = f"{TENANT} AND {_IN_THESE}"

_REMEMBER: Final = """
INSERT INTO deletions (tenant, TraceId, At, ReceivedAt)
SELECT {tenant:String}, arrayJoin({trace_ids:Array(String)}), {now:UInt64}, fromUnixTimestamp64Nano({now:Int64}, 'UTC')
"""

_JOINED: Final = f"""
SELECT TraceId FROM traces FINAL WHERE {TENANT} AND (TraceId IN {{trace_ids:Array(String)}}
    OR TraceId IN {{firsts:Array(String)}} OR JoinedTo IN {{firsts:Array(String)}})
"""
_FIRSTS: Final = f"SELECT TraceId, JoinedTo FROM traces FINAL WHERE {_THESE}"
_SESSION: Final = f"SELECT TraceId FROM traces FINAL WHERE {TENANT} AND SessionId = {{session:String}} LIMIT {PAGE}"
_SERVICE: Final = f"""
SELECT TraceId FROM traces FINAL WHERE {TENANT} AND ServiceName = {{service:String}}
AND toUnixTimestamp64Nano(ReceivedAt) < {{before:Int64}} LIMIT {PAGE}
"""
_UNJUDGED: Final = f"""
SELECT TraceId FROM spans WHERE {TENANT} AND ServiceName = {{service:String}}
AND TraceId NOT IN (SELECT TraceId FROM traces WHERE {TENANT})
GROUP BY TraceId HAVING max(toUnixTimestamp64Nano(ReceivedAt)) < {{before:Int64}} LIMIT {PAGE}
"""


class TraceMemory(Protocol):
    """Traces held in memory, by the judging thread."""

    def forget(self, keys: Collection[TraceKey], through: int) -> None:
        """Drop what arrived of these by `through` (unix nanos)."""

    def ask(self, keys: list[TraceKey]) -> object:
        """Judge what is stored of these."""


class Deletion:
    """Deletes one tenant's traces of a running collector. Any thread; blocks.

    `drops`: remove what waits to be judged or sent. `deleted` is called when some traces are gone, before the next ones
    are deleted; `reopen` (service, session id, project) for each closed session that held some, so that it is judged
    again by what is left of it.
    """

    def __init__(
        self,
        store: Store,
        judging: TraceMemory,
        drops: Sequence[Callable[[Collection[TraceKey]], None]] = (),
        clock: Callable[[], int] = time.time_ns,
        deleted: Callable[[], None] = lambda: None,
        reopen: Callable[[str, str, str], object] | None = None,
        tenant: str = "",
    ) -> None:
        self._store, self._judging, self._drops, self._clock = store, judging, drops, clock
        self._deleted, self._reopen, self._tenant = deleted, reopen, tenant

    def delete(self, query: DeleteQuery) -> int:
        """Delete the traces of a query; returns their number. Spans that arrive later begin their trace anew.

        Raises:
            RetryableError: a passing failure; safe to repeat.
            StoreError: the store failed.
        """
        deleter, count = TraceDeleter(self._store, self._tenant, self._clock), 0
        if query.trace_id and not deleter.known(query.trace_id, labels=query.labels):
            return 0
        query = replace(query, before=min(query.before, self._clock()))
        for found in _pages(deleter, query):
            ids = deleter.with_joined(found)
            keys, through = [(self._tenant, i) for i in ids], self._clock()
            changes = self._store.changes
            changes.hold(keys, through)
            sessions: tuple[SessionName, ...] = ()
            try:
                self._judging.forget(keys, through)
                for drop in self._drops:
                    drop(set(keys))
                sessions = deleter.delete(ids, through, labels=query.labels)
            finally:
                changes.let_go(keys)
                self._judging.ask(keys)
            if self._reopen is not None:
                for service, session in sessions:
                    self._reopen(service, session, self._tenant)
            self._deleted()
            count += len(ids)
        return count


def _pages(deleter: TraceDeleter, query: DeleteQuery) -> Iterator[list[str]]:
    """The traces of the query, some at a time, until none is left."""
    if query.trace_id:
        yield [query.trace_id]
        return
    while True:
        found = deleter.of_session(query.session) if query.session else deleter.of_service(query.service, query.before)
        if found:
            yield found
        if len(found) < PAGE and not (query.service and found):
            return


class TraceDeleter:
    """Deletes one tenant's traces in the store; all of it blocks. `clock`: unix nanos.

    Methods raise RetryableError for what may pass, else StoreError.
    """

    def __init__(self, store: Store, tenant: str = "", clock: Callable[[], int] = time.time_ns) -> None:
        self._store, self._scope, self._tenant, self._clock = store, Scope(store, tenant), tenant, clock

    def known(self, trace_id: str, *, labels: bool = False) -> bool:
        """Whether anything of the trace is stored; with `labels`, labels alone count, too."""
        tables = (*_ANYTHING, *(_LABELS if labels else ()))
        texts = (f"SELECT 1 FROM {table} WHERE {TENANT} AND TraceId = {{trace_id:String}} LIMIT 1" for table in tables)
        return any(self._scope.select(sql, trace_id=trace_id) for sql in texts)

    def with_joined(self, trace_ids: Sequence[str]) -> list[str]:
        """These traces, and all that are joined with any of them."""
        firsts = {first or trace for trace, first in self._scope.select(_FIRSTS, trace_ids=list(trace_ids))}
        if not firsts:
            return sorted(trace_ids)
        rows = self._scope.select(_JOINED, trace_ids=list(trace_ids), firsts=sorted(firsts))
        return sorted({row[0] for row in rows} | set(trace_ids))

    def of_session(self, session: str) -> list[str]:
        """Up to `PAGE` traces of a session, judged or not."""
        list_pending(self._store)
        return [row[0] for row in self._scope.select(_SESSION, session=session)]

    def of_service(self, service: str, before: int) -> list[str]:
        """Up to `PAGE` traces of a service whose latest row arrived before then (unix nanos), judged or not."""
        found = self._scope.select(_SERVICE, service=service, before=before)
        return [row[0] for row in found or self._scope.select(_UNJUDGED, service=service, before=before)]

    def delete(self, trace_ids: Collection[str], through: int, *, labels: bool = False) -> tuple[SessionName, ...]:
        """Delete rows that arrived by `through` (unix nanos) and all derived from them; with `labels`, labels too.

        Returns the closed sessions that lost their judgements by that. Safe to repeat after a failure.
        """
        values = {"tenant": self._tenant, "trace_ids": sorted(trace_ids), "through": through, "now": self._clock()}
        self._store.command(_REMEMBER, values)
        for table in _ARRIVED:
            self._store.command(
                f"DELETE FROM {table} WHERE {_THESE} AND toUnixTimestamp64Nano(ReceivedAt) <= {{through:Int64}}", values
            )
        sessions = delete_sessions(self._store, self._tenant, trace_ids)
        empty_answers(self._store, _IN_THESE, values)
        for table in (*(_LABELS if labels else ()), *_MADE):
            self._store.command(f"DELETE FROM {table} WHERE {_THESE}", values)
        return sessions
