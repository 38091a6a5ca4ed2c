"""Closing of sessions: once their traces have settled and nothing has come for a while."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from tracejury.collector.judging.llm.judge_queue import JudgeQueue
from tracejury.collector.judging.llm.ledger_entries import RETRIED, Revision, new_entries
from tracejury.collector.judging.llm.pending_tasks import resume
from tracejury.judges.llm.schedule import exchange_hash
from tracejury.judges.llm.selection import Decision, Policy, decide_session
from tracejury.processors.assemble import SECOND
from tracejury.schemas.llm_rows import LedgerRow
from tracejury.schemas.simulation import SESSION_END
from tracejury.schemas.trajectory import Trace, TraceState
from tracejury.schemas.verdicts import JudgedSubject, LedgerEntries, Outcome

from .stored_sessions import SessionKey, SessionState, StoredSessions

WHILE_OPEN: Final = ":open"
"""Ends the content hash of an exchange in an open trace: what was found in it is provisional."""

RECENT: Final = 24 * 3600 * SECOND
"""After a restart, sessions that no check of exchanges was asked of are closed if they came so lately: older ones may
be of a time before their pack was switched on."""

_LEFT: Final = frozenset({Outcome.SAMPLED_OUT, Outcome.FILTERED})

MOST_SESSIONS: Final = 100_000
"""Sessions that are watched; beyond it the longest quiet are forgotten until they are looked for in the store."""


class SessionClosing:
    """Watches sessions and queues them once they close. `note` and `close` from any thread, `tick` from one.

    `judges`: of sessions, name to version. `quiet`: seconds. `card_hash`: of the task card of a session, "" for none.

    A cache of the store's unclosed sessions: to look for them there takes 1.4 s of CPU beside 300,000 traces, and one
    may be due every second. An end that a span states is known to this process only; after a restart the session closes
    by quiet. Of several processes each would close the sessions whose traces it judges; where two close one at a time,
    both write the same entries.
    """

    def __init__(
        self,
        sessions: StoredSessions,
        judges: Mapping[str, str],
        policy: Policy,
        queue: JudgeQueue,
        quiet: float,
        card_hash: Callable[[Sequence[Trace]], str] = lambda _: "",
    ) -> None:
        self._sessions, self._judges, self._policy, self._queue = sessions, judges, policy, queue
        self._card_hash = card_hash
        self._quiet = round(quiet * SECOND)
        self._watched: OrderedDict[SessionKey, SessionState] = OrderedDict()
        self._complete = False  # whether every unclosed session of the store is watched
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._watched)

    def note(self, trace: Trace, *, again: bool | None = None) -> None:
        """A trace of a session was judged; `again`: because it was asked for, by hand or else to catch up."""
        key = SessionKey(trace.tenant, trace.service, trace.session_id)
        ended = any(SESSION_END in span.raw.attributes for span in trace.spans.values())
        with self._lock:
            old = self._watched.pop(key, SessionState())
            alone = frozenset(trace.trace_ids)
            still = old.open | {trace.trace_id} if trace.state is TraceState.OPEN else old.open - alone
            received = max(old.received, trace.received_through)
            asked = old.again if again is None else again
            self._watched[key] = replace(old, received=received, open=still, ended=old.ended or ended, again=asked)
            while len(self._watched) > MOST_SESSIONS:
                self._watched.popitem(last=False)
                self._complete = False

    def close(self, session: SessionKey) -> None:
        """Somebody asks for it: close the session at the next look."""
        with self._lock:
            old = self._watched.get(session, SessionState())
            self._watched[session] = replace(old, by_hand=True)

    def end_all(self) -> None:
        """Nothing more comes: close every session at the next look at which none of its traces is open."""
        with self._lock:
            self._watched.update({key: replace(state, ended=True) for key, state in self._watched.items()})

    def forget_traces(self, trace_ids: Collection[str]) -> None:
        """These traces are deleted: no session waits for them."""
        gone = frozenset(trace_ids)
        with self._lock:
            for key, state in self._watched.items():
                if not state.open.isdisjoint(gone):
                    self._watched[key] = replace(state, open=state.open - gone)

    def tick(self, now: int) -> None:
        """Close the sessions that are due.

        Raises:
            RetryableError: the store cannot just now; those left are closed at the next look.
        """
        if not self._complete:
            since = now - self._quiet - RECENT
            found = [*self._sessions.unclosed(self._judges, since, MOST_SESSIONS // 2)]
            with self._lock:
                self._complete = True
                for key, state in found:
                    self._watched.setdefault(key, state)
        with self._lock:
            due = [(key, state) for key, state in self._watched.items() if state.is_due(now, self._quiet)]
        for key, state in due:
            self._close(key, state, now)
            with self._lock:
                if self._watched.get(key) == state:
                    del self._watched[key]

    def _close(self, session: SessionKey, state: SessionState, now: int) -> None:
        traces = self._sessions.load(session.tenant, self._sessions.traces(session))
        decisions = [
            decide_session(self._policy, trace, run)
            for trace in traces
            for exchange in trace.exchanges
            if (run := trace.run(exchange.run_id)) is not None
        ]
        if not decisions:
            return
        said = [row for row in self._sessions.exchange_rows(session) if row.outcome is not Outcome.SUPERSEDED]
        stored = self._sessions.session_rows(session)
        ledger: LedgerEntries = {(row.kind, row.subject_id, row.judge): row for row in stored}
        received = max(state.received, *(trace.received_through for trace in traces))
        content = f"{_content(traces, said)}{self._card_hash(traces)}"
        revision = Revision(session.subject, content, received)
        by_hand = state.by_hand or state.again
        rows = tuple(
            new_entries(revision, self._judges, ledger, now, lambda: _decision(decisions, said), by_hand=by_hand)
        )
        if rows:
            self._sessions.save([JudgedSubject(TraceState.SETTLED, rows)])
        resume(self._queue, self._sessions.session_rows(session), self._judges)


def _content(traces: Sequence[Trace], said: Iterable[LedgerRow]) -> str:
    """Hash of what the session's exchanges show.

    Its verdicts also sum up those of exchanges, where checks ask of them: so by which versions these were judged, and
    which could not be, are part of it.
    """
    shown = [
        (trace.trace_id, exchange.id, exchange_hash(trace, trace.run(exchange.run_id), exchange))
        for trace in traces
        for exchange in trace.exchanges
    ]
    told = {(row.trace_id, row.subject_id, row.judge, row.version, row.outcome in RETRIED) for row in said}
    text = repr((sorted(shown), sorted(told)))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _decision(decisions: Sequence[Decision], said: Iterable[LedgerRow]) -> Decision:
    """The session's by those on its exchanges: judged if one is, with the weight of the least likely."""
    chosen = [one for one in decisions if one.outcome is Outcome.PENDING]
    if chosen:
        return replace(chosen[0], probability=min(one.probability for one in chosen))
    if any(row.outcome not in _LEFT for row in said):
        return Decision(Outcome.PENDING, "asked for by hand", 0.0)
    first = next((one for one in decisions if one.outcome is Outcome.SAMPLED_OUT), decisions[0])
    return replace(first, probability=min(one.probability for one in decisions))
