"""Sessions as judges see them: their traces, and what the ledger says of their exchanges and of themselves."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from tracejury.schemas.llm_rows import LATEST, LEDGER_SELECT, LedgerRow, ledger_from_row
from tracejury.schemas.trajectory import TraceState
from tracejury.schemas.verdicts import SubjectKind, session_subject_id

from .scope import TENANT, TenantRows

MOST_TRACES: Final = 1000
"""Traces of a session that are looked at, the latest ones."""

_OWN: Final = "ServiceName = {service:String} AND SessionId = {session:String}"
_TRACES: Final = f"""
SELECT TraceId, StartNanos, State, toUnixTimestamp64Nano(ReceivedAt) FROM traces FINAL
WHERE {TENANT} AND {_OWN} AND JoinedTo = '' ORDER BY StartNanos DESC, TraceId DESC LIMIT {{limit:UInt64}}
"""
_COUNT: Final = f"SELECT uniqExact(TraceId) FROM traces FINAL WHERE {TENANT} AND {_OWN} AND JoinedTo = ''"
_EXCHANGES: Final = f"""
SELECT {LEDGER_SELECT} FROM judgements FINAL WHERE {TENANT} AND SubjectKind = '{SubjectKind.EXCHANGE}'
AND TraceId IN (SELECT TraceId FROM traces WHERE {TENANT} AND {_OWN}) {LATEST}
"""
_SESSION: Final = f"""
SELECT {LEDGER_SELECT} FROM judgements FINAL WHERE {TENANT} AND SubjectKind = '{SubjectKind.SESSION}'
AND TraceId = '' AND SubjectId = {{subject:String}} {LATEST}
"""
# Of all tenants: closing is the collector's own.
_CLOSED: Final = f"""
SELECT tenant, SubjectId, max(toUnixTimestamp64Nano(ReceivedAt)) FROM judgements
WHERE SubjectKind = '{SubjectKind.SESSION}' AND TraceId = '' AND Judge IN {{judges:Array(String)}}
GROUP BY tenant, SubjectId
"""
_ANY: Final = f"""
SELECT tenant, ServiceName, SessionId, max(toUnixTimestamp64Nano(ReceivedAt)) AS received,
    groupArrayIf(TraceId, State = 'open')
FROM traces FINAL WHERE SessionId != '' AND JoinedTo = '' AND (ReceivedAt >= fromUnixTimestamp64Nano({{since:Int64}})
    OR (tenant, TraceId) IN (SELECT tenant, TraceId FROM judgements WHERE SubjectKind = '{SubjectKind.EXCHANGE}'))
GROUP BY tenant, ServiceName, SessionId ORDER BY received DESC
"""


@dataclass(frozen=True, slots=True)
class SessionTrace:
    """A trace of a session. `start`, `received`: unix nanos of its first span and of its latest arrival."""

    trace_id: str
    start: int
    state: TraceState
    received: int


@dataclass(frozen=True, slots=True)
class UnclosedSession:
    """A session with no entry of its judges since its latest arrival (unix nanos)."""

    tenant: str
    service: str
    session_id: str
    received: int
    open_traces: tuple[str, ...]


class StoredSessionTraces(TenantRows):
    """Sessions of one service each. Methods raise RetryableError for what may pass, StoreError for the rest."""

    def traces(self, service: str, session_id: str) -> list[SessionTrace]:
        """The latest traces of a session in order of time; joined ones under the first of them."""
        rows = self._scope.select(_TRACES, service=service, session=session_id, limit=MOST_TRACES)
        return [SessionTrace(row[0], row[1], TraceState(row[2]), row[3]) for row in reversed(rows)]

    def left_out(self, service: str, session_id: str) -> int:
        """How many traces of a session are earlier than those that are looked at."""
        ((count,),) = self._scope.select(_COUNT, service=service, session=session_id)
        return max(int(count) - MOST_TRACES, 0)

    def exchange_rows(self, service: str, session_id: str) -> list[LedgerRow]:
        """The latest entry of each judge on each exchange of the session."""
        return [ledger_from_row(r) for r in self._scope.select(_EXCHANGES, service=service, session=session_id)]

    def session_rows(self, service: str, session_id: str) -> list[LedgerRow]:
        """The latest entry of each judge on the session itself."""
        subject = session_subject_id(service, session_id)
        return [ledger_from_row(row) for row in self._scope.select(_SESSION, subject=subject)]

    def unclosed(self, judges: Collection[str], since: int, limit: int) -> Sequence[UnclosedSession]:
        """Sessions of all tenants that these judges have not looked at since the latest arrival, latest first.

        Those with exchanges that a judge looked at, and all with an arrival from `since` on, unix nanos.
        """
        rows = self._store.rows(_CLOSED, {"judges": sorted(judges)})
        through = {(row[0], row[1]): row[2] for row in rows}
        found: list[UnclosedSession] = []
        for tenant, service, session_id, received, open_traces in self._store.rows(_ANY, {"since": since}):
            if received > through.get((tenant, session_subject_id(service, session_id)), -1) and len(found) < limit:
                found.append(UnclosedSession(tenant, service, session_id, received, tuple(open_traces)))
        return found
