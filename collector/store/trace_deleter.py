"""Deletion of one tenant's traces in the store."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Final

from tracejury.schemas.annotations import TRACE_LABELS

from .scope import TENANT, Scope
from .session_deletion import SCORED, SessionName, delete_sessions, empty_answers, label_conditions, subjects_of
from .shared_store import SharedStore

PAGE: Final = 500
"""Traces that are deleted together."""

_ARRIVED: Final = ("spans", "logs", "media")
"""Received rows; those that arrive later than what is deleted stay. `media` after what refers to it."""

_MADE: Final = (
    "texts",
    "outlines",
    "joins",
    "verdicts",
    "findings",
    "errors",
    "cluster_names",
    "scores",
    "judgements",
    "deliveries",
    "exports",
    "traces",
)
"""Derived rows; `traces` last, so that a deletion that was interrupted finds the trace again.

`deliveries` and `exports` go after the findings: without them the next process would send the findings once more.
"""

_LABELS: Final = tuple(kind.table for kind in TRACE_LABELS)
"""The tables of human labels of traces; `session_deletion` has those of sessions."""

_ANYTHING: Final = (*_ARRIVED, "traces", "scores")

_IN_THESE: Final = "TraceId IN {trace_ids:Array(String)}"
_THESE: Final = f"{TENANT} AND {_IN_THESE}"

_REMEMBER: Final = """
INSERT INTO deletions (tenant, TraceId, At, Until, ReceivedAt)
SELECT {tenant:String}, arrayJoin({trace_ids:Array(String)}), {now:UInt64}, {until:UInt64},
    fromUnixTimestamp64Nano({now:Int64}, 'UTC')
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
_BEFORE: Final = "toUnixTimestamp64Nano(ReceivedAt) <= {through:Int64}"
_NEWEST: Final = " UNION ALL ".join(
    f"SELECT max(toUnixTimestamp64Nano(ReceivedAt)) FROM {table} WHERE {_THESE}" for table in _ARRIVED
)
_SENT_TO: Final = f"""
SELECT DISTINCT Backend FROM exports FINAL WHERE {_THESE}
UNION DISTINCT SELECT DISTINCT Webhook FROM deliveries FINAL WHERE {_THESE}
"""


class TraceDeleter:
    """Deletes one tenant's traces in the store; all of it blocks. `clock`: unix nanos.

    Methods raise RetryableError for what may pass, else StoreError.
    """

    def __init__(self, store: SharedStore, tenant: str = "", clock: Callable[[], int] = time.time_ns) -> None:
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
        """Up to `PAGE` traces of a session, of those that lists have."""
        return [row[0] for row in self._scope.select(_SESSION, session=session)]

    def of_service(self, service: str, before: int) -> list[str]:
        """Up to `PAGE` traces of a service whose latest row arrived before then (unix nanos), judged or not."""
        found = self._scope.select(_SERVICE, service=service, before=before)
        return [row[0] for row in found or self._scope.select(_UNJUDGED, service=service, before=before)]

    def count(self, trace_ids: Collection[str], through: int, *, labels: bool = False) -> Counter[str]:
        """Rows by table that `delete` would remove."""
        sql = " UNION ALL ".join(
            f"SELECT '{table}', count() FROM {table} FINAL WHERE {condition}"
            for table, condition in (
                *((table, f"{_THESE} AND {_BEFORE}") for table in _ARRIVED),
                *((table, _THESE) for table in (*(_LABELS if labels else ()), *_MADE)),
                *(label_conditions() if labels else ()),
                ("scores", SCORED),
                ("answers", f"{_THESE} AND Text != ''"),
            )
        )
        subjects, _ = subjects_of(self._scope, trace_ids)
        rows = self._scope.select(sql, trace_ids=sorted(trace_ids), through=through, subjects=subjects)
        found = Counter[str]()
        for table, count in rows:
            found[table] += count
        return +found

    def newest(self, trace_ids: Collection[str]) -> int:
        """When the newest row of these traces arrived (unix nanos); 0 where nothing is stored."""
        return max((at for (at,) in self._scope.select(_NEWEST, trace_ids=sorted(trace_ids))), default=0)

    def sent_to(self, trace_ids: Collection[str]) -> set[str]:
        """The backends and webhooks that were told of some of these."""
        return {name for (name,) in self._scope.select(_SENT_TO, trace_ids=sorted(trace_ids))}

    def delete(
        self, trace_ids: Collection[str], through: int, *, labels: bool = False, until: int = 0
    ) -> tuple[SessionName, ...]:
        """Delete rows that arrived by `through` (unix nanos) and all derived from them; with `labels`, labels too.

        Returns the closed sessions that lost their judgements by that. Safe to repeat after a failure. `until`: kept as
        the time until which these traces stay deleted (unix nanos).
        """
        ids, now = sorted(trace_ids), self._clock()
        values = {"tenant": self._tenant, "trace_ids": ids, "through": through, "now": now, "until": until}
        self._store.command(_REMEMBER, values)
        for table in _ARRIVED:
            self._store.command(f"DELETE FROM {table} WHERE {_THESE} AND {_BEFORE}", values, mutated=table)
        sessions = delete_sessions(self._store, self._tenant, trace_ids, labels=labels)
        empty_answers(self._store, _IN_THESE, values)
        for table in (*(_LABELS if labels else ()), "run_facts", *_MADE):
            self._store.command(f"DELETE FROM {table} WHERE {_THESE}", values, mutated=table)
        return sessions
