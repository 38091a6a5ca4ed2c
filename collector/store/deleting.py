"""Deleting traces: everything that is stored of them, and nothing else. All of it blocks."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from typing import Final

from ...schemas.llm_rows import ANSWER_COLUMNS
from .client import Store
from .scope import TENANT, Scope

PAGE: Final = 500
"""Traces that are deleted together."""

_ARRIVED: Final = ("spans", "logs")
"""What has come: rows that come later stay, and begin the trace anew."""

_MADE: Final = ("texts", "outlines", "joins", "verdicts", "findings", "judgements", "deliveries", "exports", "traces")
"""What we made of it; `traces` last: as long as it stands, the trace is found again for what is left.

What was sent out goes after the findings: without it they would be news to the next process, where this one dies.
"""

_LABELS: Final = ("annotations", "human_scores", "reviews")
"""People's work."""

_ANYTHING: Final = ("spans", "logs", "traces")

_THESE: Final = f"{TENANT} AND TraceId IN {{trace_ids:Array(String)}}"

# What was said of it goes; that it was asked, and what that cost, stays for the budget.
_EMPTIED: Final = {"Key": "''", "Text": "''"}
_KEEP_COSTS: Final = (
    f"INSERT INTO answers ({', '.join(ANSWER_COLUMNS)}) "
    f"SELECT {', '.join(_EMPTIED.get(name, name) for name in ANSWER_COLUMNS)} "
    f"FROM answers FINAL WHERE {_THESE} AND (Key != '' OR Text != '')"
)
_DROP_ANSWERS: Final = f"DELETE FROM answers WHERE {_THESE} AND (Key != '' OR Text != '')"

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


class Deleting:
    """One tenant's traces. Methods raise RetryableError for what may pass, else StoreError. `clock`: unix nanos."""

    def __init__(self, store: Store, tenant: str = "", clock: Callable[[], int] = time.time_ns) -> None:
        self._store, self._scope, self._tenant, self._clock = store, Scope(store, tenant), tenant, clock

    def known(self, trace_id: str, *, labels: bool = False) -> bool:
        """Whether anything of it is stored; `labels`: people's word of it is something, though all else is gone."""
        tables = (*_ANYTHING, *(_LABELS if labels else ()))
        texts = (f"SELECT 1 FROM {table} WHERE {TENANT} AND TraceId = {{trace_id:String}} LIMIT 1" for table in tables)
        return any(self._scope.select(sql, trace_id=trace_id) for sql in texts)

    def whole(self, trace_ids: Sequence[str]) -> list[str]:
        """These traces with all that are one run with any of them."""
        firsts = {first or trace for trace, first in self._scope.select(_FIRSTS, trace_ids=list(trace_ids))}
        if not firsts:
            return sorted(trace_ids)
        rows = self._scope.select(_JOINED, trace_ids=list(trace_ids), firsts=sorted(firsts))
        return sorted({row[0] for row in rows} | set(trace_ids))

    def of_session(self, session: str) -> list[str]:
        """Up to `PAGE` traces of a session; those that were not judged yet are of none."""
        return [row[0] for row in self._scope.select(_SESSION, session=session)]

    def of_service(self, service: str, before: int) -> list[str]:
        """Up to `PAGE` traces of a service whose latest row arrived before then (unix nanos), judged or not."""
        found = self._scope.select(_SERVICE, service=service, before=before)
        return [row[0] for row in found or self._scope.select(_UNJUDGED, service=service, before=before)]

    def delete(self, trace_ids: Collection[str], through: int, *, labels: bool = False) -> None:
        """Delete what arrived of them by `through` (unix nanos) and all that was made of it; `labels`: people's, too.

        Done again after a failure it goes on where it was.
        """
        values = {"tenant": self._tenant, "trace_ids": sorted(trace_ids), "through": through, "now": self._clock()}
        self._store.command(_REMEMBER, values)
        for table in _ARRIVED:
            self._store.command(
                f"DELETE FROM {table} WHERE {_THESE} AND toUnixTimestamp64Nano(ReceivedAt) <= {{through:Int64}}", values
            )
        self._store.command(_KEEP_COSTS, values)
        self._store.command(_DROP_ANSWERS, values)
        for table in (*(_LABELS if labels else ()), *_MADE):
            self._store.command(f"DELETE FROM {table} WHERE {_THESE}", values)
