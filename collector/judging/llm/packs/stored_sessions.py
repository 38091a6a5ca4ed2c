"""Sessions of the store for the packs' judges, of every tenant. All methods block."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from cachetools import LRUCache

from tracejury.collector.judging.llm.stored import StoredCases
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.reading import StoredReading
from tracejury.collector.store.session_traces import SessionTrace, StoredSessionTraces
from tracejury.collector.store.shared_store import SharedStore
from tracejury.judges.checks.check_types import Check
from tracejury.processors.transcript.session_record import session_record
from tracejury.schemas.findings import Finding
from tracejury.schemas.llm_rows import LedgerRow
from tracejury.schemas.trajectory import Trace
from tracejury.schemas.transcript import SessionRecord
from tracejury.schemas.verdicts import JudgedSubject, Subject, SubjectKind, Verdict, session_subject_id

MAX_BYTES: Final = 128 * 1024 * 1024
"""Of records that are kept: the next exchange needs them again."""


@dataclass(frozen=True, slots=True, order=True)
class SessionKey:
    """A session of a tenant."""

    tenant: str
    service: str
    session_id: str

    @property
    def subject(self) -> Subject:
        """The session as a subject."""
        return Subject(SubjectKind.SESSION, session_subject_id(self.service, self.session_id), "", self.tenant)


@dataclass(frozen=True, slots=True)
class SessionState:
    """An unclosed session. `received`: unix nanos of its latest arrival; `open`: ids of open traces.

    `by_hand`: somebody had it closed; `again`: a trace of it was asked for, by hand or else to catch up.
    """

    received: int = 0
    open: frozenset[str] = frozenset()
    ended: bool = False
    by_hand: bool = False
    again: bool | None = None

    def is_due(self, now: int, quiet: int) -> bool:
        """Whether it is to be closed: `quiet` nanos after the latest arrival, and once no trace is open."""
        if self.received + quiet > now and not (self.ended or self.by_hand):
            return False
        return self.by_hand or not self.open


class StoredSessions:
    """Sessions with their traces, records and ledgers. Any thread; methods raise RetryableError, StoreError."""

    def __init__(self, store: SharedStore, cases: StoredCases) -> None:
        self._store, self._cases = store, cases
        self._records: LRUCache[tuple[object, ...], SessionRecord] = LRUCache(MAX_BYTES, getsizeof=_length)
        self._recording = threading.Lock()

    def unclosed(self, judges: Collection[str], since: int, limit: int) -> Iterator[tuple[SessionKey, SessionState]]:
        """See `StoredSessionTraces.unclosed`."""
        for one in StoredSessionTraces(self._store).unclosed(judges, since, limit):
            key = SessionKey(one.tenant, one.service, one.session_id)
            yield key, SessionState(one.received, frozenset(one.open_traces))

    def exchange_rows(self, session: SessionKey) -> Sequence[LedgerRow]:
        """The latest entries about the session's exchanges, in order of time."""
        return self._of(session).exchange_rows(session.service, session.session_id)

    def session_rows(self, session: SessionKey) -> Sequence[LedgerRow]:
        """The latest entries about the session itself."""
        return self._of(session).session_rows(session.service, session.session_id)

    def save(self, subjects: Sequence[JudgedSubject]) -> None:
        """Store judgements."""
        self._cases.save(subjects)

    def traces(self, session: SessionKey) -> Sequence[SessionTrace]:
        """The latest traces of the session in order of time."""
        return self._of(session).traces(session.service, session.session_id)

    def left_out(self, session: SessionKey) -> int:
        """How many earlier traces `traces` leaves out."""
        return self._of(session).left_out(session.service, session.session_id)

    def load(self, tenant: str, traces: Sequence[SessionTrace]) -> list[Trace]:
        """These traces as they are now; those that are gone are left out."""
        found = (self._cases.load((tenant, trace.trace_id), trace.received, trace.state) for trace in traces)
        return [one[0] for one in found if one is not None]

    def record(self, session_id: str, traces: Sequence[Trace]) -> SessionRecord:
        """The record of these traces, made once for all exchanges that end with the same one."""
        seen = ((t.tenant, t.trace_id, t.state, t.received_through, t.joined_to, len(t.spans)) for t in traces)
        key = (session_id, *seen)
        with self._recording:  # one at a time, so that none is made twice: it is work of the interpreter alone
            record = self._records.get(key)
            if record is None:
                record = session_record(session_id, traces)
                if _length(record) <= MAX_BYTES:
                    self._records[key] = record
            return record

    def outcomes(self, tenant: str, trace_ids: Sequence[str]) -> list[LedgerRow]:
        """The latest entry of each judge on each subject of these traces."""
        said = StoredLlmJudging(self._store, tenant).outcomes(trace_ids)
        return [row for rows in said.values() for row in rows.values()]

    def verdicts(self, tenant: str, trace_ids: Sequence[str]) -> list[Verdict]:
        """The latest verdict of each judge on each subject of these traces."""
        found = StoredReading(self._store, tenant).load_verdicts(trace_ids)
        return [verdict for verdicts in found.values() for verdict in verdicts]

    def settled(
        self, tenant: str, exchanges: Sequence[tuple[str, str]], checks: Sequence[Check]
    ) -> dict[str, frozenset[str]]:
        """By check, the items that these exchanges (trace id, id) settled: they are not asked about again."""
        settling = {check.name: check.settling for check in checks}
        return StoredLlmJudging(self._store, tenant).items_answered(exchanges, settling)

    def findings(self, tenant: str, trace_ids: Sequence[str]) -> list[Finding]:
        """The findings of LLM judges in these traces, of any state."""
        found = StoredLlmJudging(self._store, tenant).run_findings(trace_ids)
        return [finding for findings in found.values() for finding in findings]

    def _of(self, session: SessionKey) -> StoredSessionTraces:
        return StoredSessionTraces(self._store, session.tenant)


def _length(record: SessionRecord) -> int:
    return sum(len(step.text) + len(step.outline) for step in record.transcript.steps) + 1
