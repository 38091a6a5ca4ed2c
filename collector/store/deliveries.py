"""Webhook state: events to deliver, and those delivered. All of it blocks."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tracejury.collector.worker.listeners import TAKE_UP
from tracejury.judges.packs.grades import mean_grades
from tracejury.processors.assemble import SECOND
from tracejury.schemas.errors import TracejuryError
from tracejury.schemas.judged_rows import FINDING_SELECT
from tracejury.schemas.queries.webhook_events import NAME, Delivered, Event, Found, Looked

from .errors import StoredErrors
from .findings import read_finding
from .inserting import insert_rows, store_rows, storing
from .install import install_once
from .reading import StoredReading
from .scope import TENANT, Scope
from .shared_store import SharedStore

_THESE: Final = f"{TENANT} AND TraceId IN {{trace_ids:Array(String)}}"

# JudgedAt tells of what changed, FirstSeen of what is new since the webhook was set up; rows need no de-duplication, as
# each trace is looked at as it stands.
_RECENT: Final = f"""
SELECT DISTINCT TraceId FROM findings
WHERE {TENANT} AND JudgedAt >= {{changed:UInt64}} AND JudgedAt <= {{until:UInt64}} AND FirstSeen >= {{since:UInt64}}
    AND TraceId > {{after:String}}
ORDER BY TraceId LIMIT {{limit:UInt64}}
"""

_MOST: Final = NAME + 1
"""Characters of a name that are read: more are not told."""

_PLACES: Final = f"""
SELECT TraceId, leftUTF8(ServiceName, {_MOST}), leftUTF8(SessionId, {_MOST}), State, Conventions, Runs.Id,
    arrayMap(name -> leftUTF8(name, {_MOST}), Runs.Name), toUnixTimestamp64Nano(ReceivedAt),
    EndNanos, if(JoinedTo = '', TraceId, JoinedTo)
FROM traces FINAL WHERE {_THESE}
"""

_TASKS: Final = f"""
SELECT TraceId, anyIf(leftUTF8(SpanAttributes['tracejury.task.id'], {_MOST}), SpanAttributes['tracejury.task.id'] != '')
FROM spans WHERE {_THESE} GROUP BY TraceId
"""

_TOLD: Final = f"""
SELECT 1 FROM deliveries WHERE {TENANT} AND TraceId = {{trace_id:String}} AND Webhook = {{webhook:String}}
    AND Fingerprint = {{fingerprint:String}} AND Event = {{event:String}} LIMIT 1
"""

_COLUMNS: Final = ("tenant", "TraceId", "Webhook", "Fingerprint", "Event", "State", "At", "ReceivedAt")


class StoredDeliveries:
    """The store as webhooks see it. `clock` gives unix nanos."""

    def __init__(self, store: SharedStore, tenant: str = "", clock: Callable[[], int] = time.time_ns) -> None:
        self._store, self._tenant, self._clock = store, tenant, clock
        self._scope = Scope(store, tenant)

    def since(self, webhook: str) -> int:
        """When a webhook was first set up (unix nanos): what was seen before is not news to it.

        Raises:
            RetryableError, StoreError: the store failed.
        """
        return install_once(self._scope, f"webhook {webhook}", "", self._clock())[1]

    def quiet(self, webhook: str) -> int:
        """When nothing waited for a webhook the last time, as far as is kept (unix nanos); 0: never.

        Raises:
            RetryableError, StoreError: the store failed.
        """
        sql = f"SELECT max(At) FROM deliveries WHERE {TENANT} AND TraceId = '' AND Webhook = {{webhook:String}}"
        return int(self._scope.select(sql, webhook=webhook)[0][0])

    def keep_quiet(self, webhook: str, at: int) -> None:
        """Keep that nothing waited for a webhook then: as what it was told of no trace.

        Raises:
            RetryableError, StoreError: the store failed.
        """
        row = (self._tenant, "", webhook, "", "", "quiet", at, at)
        store_rows(self._store, "what webhooks were told", "deliveries", _COLUMNS, [row])

    def recent(self, changed: int, since: int, after: str, limit: int) -> list[str]:
        """Up to `limit` traces, by id and beyond `after`, of whose findings one first seen from `since` on changed.

        On a server those that others may be about to tell of are left to them.
        """
        until = 2**64 - 1 if self._store.embedded else max(self._clock() - round(TAKE_UP.longest * SECOND), 0)
        values = {"changed": changed, "until": until, "since": since, "after": after, "limit": limit}
        return [row[0] for row in self._scope.select(_RECENT, **values)]

    def told_by_others(self, webhook: str, trace_id: str, fingerprint: str, event: Event) -> bool:
        """Whether another process has told a webhook of an event; not known where the store fails."""
        if self._store.embedded:
            return False
        values = {"webhook": webhook, "trace_id": trace_id, "fingerprint": fingerprint, "event": event.value}
        try:
            return bool(self._scope.select(_TOLD, **values))
        except TracejuryError:
            return False

    def read_findings(self, webhook: str, trace_ids: Sequence[str]) -> Looked:
        """The findings of these traces, of any state, their errors, and what the webhook was told of them."""
        places = self._places(trace_ids)
        found = []
        sql = f"SELECT {FINDING_SELECT}, JudgedAt FROM findings FINAL WHERE {_THESE} ORDER BY FirstSeen, Id"
        for row in self._scope.select(sql, trace_ids=trace_ids):
            finding = read_finding(row)
            if place := places.get(finding.trace_id):
                found.append(
                    Found(finding, judged_at=row[-1], agent=place[1].get(finding.agent_run_id, ""), **place[0])
                )
        told = self._scope.select(
            f"SELECT Fingerprint, Event, State FROM deliveries FINAL WHERE {_THESE} AND Webhook = {{webhook:String}}",
            trace_ids=trace_ids,
            webhook=webhook,
        )
        marks = {(fingerprint, Event(event)): state for fingerprint, event, state in told}
        return Looked(tuple(found), marks, StoredErrors(self._store, self._tenant).led_in(trace_ids))

    def mark(self, delivered: Sequence[Delivered]) -> None:
        """Keep what a webhook was told, but of traces that are deleted since; the same again changes nothing.

        Raises:
            RetryableError, StoreError: the store failed.
        """
        with storing("what webhooks were told"), self._store.deletions.writing():
            rows = [
                (self._tenant, d.trace_id, d.webhook, d.fingerprint, d.event.value, d.state, d.at, d.at)
                for d in delivered
                if self.stays(d.trace_id, d.received)
            ]
            insert_rows(self._store, "deliveries", _COLUMNS, rows)

    def stays(self, trace_id: str, received: int) -> bool:
        """Whether what was said of a trace as it was then (unix nanos) may be told: it is not deleted since."""
        return self._store.deletions.stays((self._tenant, trace_id), received)

    def _places(self, trace_ids: Sequence[str]) -> dict[str, tuple[dict[str, Any], Mapping[str, str]]]:
        """The trace's part of a finding's event, and the names of the agent runs."""
        tasks = {row[0]: row[1] for row in self._scope.select(_TASKS, trace_ids=trace_ids)}
        places: dict[str, tuple[dict[str, Any], Mapping[str, str]]] = {}
        rows = self._scope.select(_PLACES, trace_ids=trace_ids)
        verdicts = StoredReading(self._store, self._tenant).load_verdicts(sorted({row[-1] for row in rows}))
        for trace_id, service, session, state, conventions, ids, names, received, ended, whole in rows:
            said = {
                "service": service,
                "session_id": session,
                "trace_state": state,
                "conventions": tuple(conventions),
                "received": received,
                "ended": ended,
                "task_id": tasks.get(trace_id, ""),
                "grades": mean_grades(verdicts.get(whole, ())),
            }
            places[trace_id] = said, dict(zip(ids, names, strict=True))
        return places
