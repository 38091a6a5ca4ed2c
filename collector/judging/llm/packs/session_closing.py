"""Closing of sessions: once their traces have settled and nothing has come for a while."""

from __future__ import annotations

import hashlib
import heapq
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from tracejury.collector.judging.llm.enqueue import tasks_left
from tracejury.collector.judging.llm.judge_queue import JudgeQueue
from tracejury.collector.judging.llm.ledger_entries import RETRIED, Revision, new_entries
from tracejury.judges.llm.selection import Decision
from tracejury.processors.assemble import SECOND
from tracejury.schemas.llm_rows import LedgerRow
from tracejury.schemas.trajectory import Trace, TraceState
from tracejury.schemas.verdicts import JudgedSubject, LedgerEntries, Outcome, Subject, SubjectKind, session_subject_id

END_ATTRIBUTE: Final = "tracejury.session.end"
"""A span with it ends its session: nothing is waited for once its traces have settled."""

WHILE_OPEN: Final = ":open"
"""Ends the content hash of an exchange in an open trace: what was found in it is provisional."""

MOST_SESSIONS: Final = 100_000
"""Sessions that are watched; beyond it the longest quiet are forgotten until they are looked for in the store."""


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
    """An unclosed session. `received`: unix nanos of its latest arrival; `open`: ids of open traces."""

    received: int = 0
    open: frozenset[str] = frozenset()
    ended: bool = False
    by_hand: bool = False

    def due(self, quiet: int) -> int | None:
        """When it is to be closed, `quiet` nanos after the latest arrival; None while it waits for a trace."""
        if self.by_hand or self.open:
            return 0 if self.by_hand else None
        return 0 if self.ended else self.received + quiet


class SessionStore(Protocol):
    """What is stored of sessions. Methods raise RetryableError, StoreError."""

    def unclosed(self, judges: Collection[str], limit: int) -> Iterable[tuple[SessionKey, SessionState]]:
        """Sessions with judged exchanges that have no entries of these judges since their latest arrival."""

    def exchange_rows(self, session: SessionKey) -> Sequence[LedgerRow]:
        """The latest entries about the session's exchanges, in order of time."""

    def session_rows(self, session: SessionKey) -> Sequence[LedgerRow]:
        """The latest entries about the session itself."""

    def save(self, subjects: Sequence[JudgedSubject]) -> None:
        """Store judgements."""


class SessionClosing:
    """Watches sessions and queues them once they close. `note` and `close` from any thread, `tick` from one.

    `judges`: of sessions, name to version. `quiet`: seconds.
    """

    def __init__(
        self,
        store: SessionStore,
        judges: Mapping[str, str],
        queue: JudgeQueue,
        quiet: float,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._store, self._judges, self._queue, self._clock = store, judges, queue, clock
        self._quiet = round(quiet * SECOND)
        self._watched: OrderedDict[SessionKey, SessionState] = OrderedDict()
        self._due: list[tuple[int, SessionKey]] = []  # a heap: when to look at which session
        self._looks: dict[SessionKey, int] = {}  # the next look at each; another entry of the heap is out of date
        self._complete = False  # whether every unclosed session of the store is watched
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._watched)

    def note(self, trace: Trace) -> None:
        """A trace of a session was judged."""
        key = SessionKey(trace.tenant, trace.service, trace.session_id)
        ended = any(END_ATTRIBUTE in span.raw.attributes for span in trace.spans.values())
        with self._lock:
            old = self._watched.pop(key, SessionState())
            alone = frozenset(trace.trace_ids)
            still = old.open | {trace.trace_id} if trace.state is TraceState.OPEN else old.open - alone
            received = max(old.received, trace.received_through)
            self._watch(key, replace(old, received=received, open=still, ended=old.ended or ended))
            while len(self._watched) > MOST_SESSIONS:
                self._watched.popitem(last=False)
                self._complete = False

    def close(self, session: SessionKey) -> None:
        """Somebody asks for it: close the session at the next look."""
        with self._lock:
            old = self._watched.get(session, SessionState())
            self._watch(session, replace(old, by_hand=True))

    def forget_traces(self, trace_ids: Collection[str]) -> None:
        """These traces are deleted: no session waits for them."""
        gone = frozenset(trace_ids)
        with self._lock:
            for key, state in self._watched.items():
                if not state.open.isdisjoint(gone):
                    self._watch(key, replace(state, open=state.open - gone))

    def tick(self, now: int) -> None:
        """Close the sessions that are due.

        Raises:
            RetryableError: the store cannot just now; those left are closed at the next look.
        """
        if not self._complete:
            self._complete = True
            try:
                self._look()
            except BaseException:
                self._complete = False
                raise
        with self._lock:
            due = self._take(now)
        try:
            while due:
                key, state = due[-1]
                self._close(key, state, now)
                with self._lock:
                    if self._watched.get(key) == state:
                        del self._watched[key]
                due.pop()
        finally:
            with self._lock:
                for key, state in due:
                    self._watch(key, self._watched.get(key, state))

    def _watch(self, session: SessionKey, state: SessionState) -> None:
        """Look at the session when it is due. Under the lock, as `_take`."""
        self._watched[session] = state
        due = state.due(self._quiet)
        if due is not None and due < self._looks.get(session, due + 1):
            self._looks[session] = due
            heapq.heappush(self._due, (due, session))

    def _take(self, now: int) -> list[tuple[SessionKey, SessionState]]:
        """The sessions that are due; their looks are taken, too."""
        found: list[tuple[SessionKey, SessionState]] = []
        while self._due and self._due[0][0] <= now:
            look, session = heapq.heappop(self._due)
            if self._looks.get(session) == look:
                del self._looks[session]
                if state := self._watched.get(session):
                    due = state.due(self._quiet)
                    if due is not None and due <= now:
                        found.append((session, state))
                    else:
                        self._watch(session, state)  # it went on since
        return found[::-1]

    def _look(self) -> None:
        """Watch what an earlier process left, or what was forgotten."""
        for key, state in self._store.unclosed(self._judges, MOST_SESSIONS // 2):
            with self._lock:
                self._watch(key, self._watched.get(key, state))

    def _close(self, session: SessionKey, state: SessionState, now: int) -> None:
        said = [row for row in self._store.exchange_rows(session) if row.outcome is not Outcome.SUPERSEDED]
        if not said:
            return
        stored = self._store.session_rows(session)
        ledger: LedgerEntries = {(row.kind, row.subject_id, row.judge): row for row in stored}
        received = max(state.received, *(row.received_through for row in said))
        revision = Revision(session.subject, _content(said), received)
        by_hand = True if state.by_hand else None
        rows = tuple(new_entries(revision, self._judges, ledger, now, lambda: _decision(said), by_hand=by_hand))
        if rows:
            self._store.save([JudgedSubject(TraceState.SETTLED, rows)])
        pending = [row for row in self._store.session_rows(session) if row.outcome is Outcome.PENDING]
        for task in tasks_left(pending, self._judges):
            if not self._queue.holds(task.subject_key):
                self._queue.put(task)


def _content(rows: Iterable[LedgerRow]) -> str:
    """Hash of the session's exchanges: of what each shows, by which version it is judged, and whether it could be."""
    told = {
        (
            row.trace_id,
            row.subject_id,
            row.input_hash.removesuffix(WHILE_OPEN),
            row.judge,
            row.version,
            row.outcome in RETRIED,
        )
        for row in rows
    }
    return hashlib.blake2b(repr(sorted(told)).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _decision(rows: Sequence[LedgerRow]) -> Decision:
    """The session's by those of its exchanges: judged if one is, with the weight of the least likely."""
    left = {Outcome.SAMPLED_OUT, Outcome.FILTERED}
    chosen = [row for row in rows if row.outcome not in left]
    if chosen:
        return Decision(Outcome.PENDING, "", min(row.probability for row in chosen))
    first = next((row for row in rows if row.outcome is Outcome.SAMPLED_OUT), rows[0])
    return Decision(first.outcome, first.reason, min(row.probability for row in rows))
