"""Selection of exchanges, and of traces that are sessions of their own. Belongs to the judging thread."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from tracejury.collector.judging.ledger import stands
from tracejury.collector.judging.llm.judge_queue import JudgeQueue
from tracejury.collector.judging.llm.ledger_entries import Revision, keyed, new_entries
from tracejury.collector.judging.llm.pending_tasks import pending_tasks
from tracejury.collector.judging.llm.relocated_runs import withdrawn
from tracejury.collector.judging.llm.requested import RequestedTraces
from tracejury.collector.judging.llm.traces_to_judge import TracesToJudge
from tracejury.collector.judging.pipeline import NOTHING, Elsewhere, Selection
from tracejury.judges.llm.schedule import ended_exchanges, exchange_hash
from tracejury.judges.llm.selection import Decision, Policy, decide_session
from tracejury.processors.assemble import TraceKey
from tracejury.schemas.findings import Finding
from tracejury.schemas.trajectory import AgentRun, Trace, TraceState
from tracejury.schemas.verdicts import JudgedTrace, Judgement, LedgerEntries, LedgerKey, LedgerRecord, Outcome, Subject
from tracejury.schemas.verdicts import SubjectKind as Kind

from .session_closing import WHILE_OPEN, SessionClosing

MAX_EXCHANGES: Final = 500
"""Exchanges of one trace that are judged; later ones are noted as filtered."""
MAX_NOTED: Final = 5000
"""Exchanges of one trace that stand in the ledger."""

OURS: Final = frozenset({Kind.EXCHANGE, Kind.SESSION})
_BEYOND: Final = Decision(Outcome.FILTERED, f"beyond the first {MAX_EXCHANGES} exchanges of its trace", 0.0)


@dataclass(frozen=True, slots=True)
class LiveChecks:
    """Checks that are asked while an exchange goes on, too, as they ask no model.

    `of`: their versions by name, for a trace that is open; `names`: of all of them.
    """

    of: Callable[[Trace], Mapping[str, str]]
    names: frozenset[str] = frozenset()


NO_LIVE_CHECKS: Final = LiveChecks(lambda _: {})


class PackSelector:
    """Keeps the ledger of the packs' judges, and queues what is pending in it. `request` from any thread.

    `of_exchanges`, `of_sessions`: the judges of each, name to version. Sessions of several traces are closed elsewhere;
    `closing` is told of what happens in them. `card_hash`: of the task card of a session, "" for none.
    """

    def __init__(
        self,
        of_exchanges: Mapping[str, str],
        of_sessions: Mapping[str, str],
        policy: Policy,
        queue: JudgeQueue,
        recent: TracesToJudge,
        closing: SessionClosing,
        clock: Callable[[], int] = time.time_ns,
        live: LiveChecks = NO_LIVE_CHECKS,
        card_hash: Callable[[Sequence[Trace]], str] = lambda _: "",
    ) -> None:
        self._live, self._card_hash = live, card_hash
        self._of_exchanges, self._of_sessions, self._policy = of_exchanges, of_sessions, policy
        self._queue, self._recent, self._closing, self._clock = queue, recent, closing, clock
        self._requested, self._again = RequestedTraces(), RequestedTraces()

    def request(self, keys: Iterable[TraceKey], *, by_hand: bool) -> None:
        """Judge the exchanges of these traces again at their next pass, and then the sessions of the traces."""
        self._requested.add(keys, by_hand=by_hand)

    def select(
        self,
        trace: Trace,
        findings: Sequence[Finding],  # noqa: ARG002  a session is not chosen by what was found in it
        ledger: LedgerEntries,
        now: int,
        elsewhere: Elsewhere = NOTHING,  # noqa: ARG002  all of a session is chosen, or none
    ) -> Selection:
        """See `Selector`. An exchange is considered while it goes on (by few), when it ends, and when it changes."""
        key = (trace.tenant, trace.trace_id)
        if (by_hand := self._requested.take(key)) is not None:
            self._again.add([key], by_hand=by_hand)
        rows: list[Judgement] = []
        runs = {run.id: run for run in trace.runs}
        card = self._card_hash([trace]) if trace.exchanges else ""
        whole = hashlib.blake2b(card.encode(), digest_size=16)
        ended = {exchange.id for exchange in ended_exchanges(trace)}
        live = self._live.of(trace) if len(ended) < len(trace.exchanges) else {}
        for number, exchange in enumerate(trace.exchanges[:MAX_NOTED]):
            judges = self._of_exchanges if exchange.id in ended else live
            if not judges:
                continue
            run = runs.get(exchange.run_id)
            content = _closed_calls(trace) if judges is live else exchange_hash(trace, run, exchange)
            whole.update(content.encode())
            subject = Subject(Kind.EXCHANGE, exchange.id, trace.trace_id, trace.tenant)
            state = WHILE_OPEN if trace.state is TraceState.OPEN else ""
            revision = Revision(subject, f"{content}{card}{state}", trace.received_through)
            decide = partial(self._decide, trace, run, number, by_hand=by_hand)
            rows += new_entries(revision, judges, ledger, now, decide, by_hand=by_hand)
        if trace.exchanges and not trace.session_id and trace.state is not TraceState.OPEN:
            subject = Subject(Kind.SESSION, trace.trace_id, trace.trace_id, trace.tenant)
            revision = Revision(subject, whole.hexdigest(), trace.received_through)
            decide = partial(self._decide, trace, runs.get(trace.exchanges[0].run_id), 0, by_hand=by_hand)
            rows += new_entries(revision, self._of_sessions, ledger, now, decide, by_hand=by_hand)
        known = frozenset(subject_id for _, subject_id, _ in ledger)
        gone = self._take_back(trace, ledger, {e.id for e in trace.exchanges}, now)
        ledger.update(keyed((*rows, *gone)))
        return Selection((*rows, *gone), known)

    def _decide(self, trace: Trace, run: AgentRun | None, number: int, *, by_hand: bool | None) -> Decision:
        if number >= MAX_EXCHANGES or run is None:
            return _BEYOND
        decision = decide_session(self._policy, trace, run)
        if by_hand and decision.outcome is not Outcome.PENDING:
            return Decision(Outcome.PENDING, "asked for by hand", 0.0)
        return decision

    def withdraw(self, trace: Trace, whole: Trace, ledger: LedgerEntries, *, moved: bool) -> tuple[Judgement, ...]:  # noqa: ARG002  see `Selector`
        """See `Selector`: what was said of exchanges at `trace`, which show at `whole` now."""
        gone = self._take_back(trace, ledger, (), self._clock())
        ledger.update(keyed(gone))
        return gone

    def _take_back(
        self, trace: Trace, ledger: Mapping[LedgerKey, LedgerRecord], exchanges: Iterable[str], now: int
    ) -> tuple[Judgement, ...]:
        known = {*exchanges} if trace.session_id else {*exchanges, trace.trace_id}
        if trace.joined_to:
            known.clear()
        gone = {k: w for k, w in ledger.items() if k[0] in OURS and k[1] not in known and stands(w)}
        if gone:
            self._queue.withdraw((trace.tenant, trace.trace_id), OURS, known)
        return withdrawn(gone, trace, now)

    def enqueue(self, judged: Sequence[JudgedTrace]) -> None:
        """Queue what is pending in these traces, which are stored, and note what happened in their sessions."""
        for one in judged:
            tasks = [*pending_tasks(one.ledger, Kind.EXCHANGE), *pending_tasks(one.ledger, Kind.SESSION)]
            if tasks:
                self._recent.keep(one.trace, one.judgement.findings)
                self._queue.add(*(replace(t, urgent=self._live.names.issuperset(t.judges)) for t in tasks))
            again = self._again.take((one.trace.tenant, one.trace.trace_id))
            if one.trace.session_id and one.trace.exchanges:
                self._closing.note(one.trace, again=again)


def _closed_calls(trace: Trace) -> str:
    """What an exchange that goes on shows: the calls of closed turns, of sub-agents, too."""
    return str(sum(len(turn.tool_calls) for run in trace.runs for turn in run.turns if turn.closed))
