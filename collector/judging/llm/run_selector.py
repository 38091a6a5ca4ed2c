"""Selection of agent runs for LLM judges, recorded in the ledger. Belongs to the judging thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from tracejury.collector.judging.ledger import run_of, stands
from tracejury.collector.judging.pipeline import NOTHING, Elsewhere, Selection
from tracejury.judges.llm.groups import groups, ready
from tracejury.judges.llm.members import LlmJudges
from tracejury.judges.llm.schedule import content_hash, is_over
from tracejury.judges.llm.selection import Decision, Policy, decide
from tracejury.judges.llm.subjects import subjects
from tracejury.processors.assemble import TraceKey
from tracejury.schemas.findings import Finding
from tracejury.schemas.trajectory import AgentRun, Trace, TraceState
from tracejury.schemas.verdicts import (
    JudgedTrace,
    Judgement,
    LedgerEntries,
    LedgerKey,
    LedgerRecord,
    Outcome,
    Subject,
    SubjectKind,
)

from .judge_queue import JudgeQueue, JudgeTask
from .ledger_entries import Revision, keyed, new_entries
from .pending_tasks import pending_tasks
from .relocated_runs import with_earlier_draw, withdrawn
from .requested import RequestedTraces
from .traces_to_judge import TracesToJudge
from .windows import Windows

MAX_RUNS: Final = 500
"""Agent runs of one trace that LLM judges look at; later ones are counted only."""
MAX_NOTED: Final = 5000
"""Agent runs of one trace that stand in the ledger."""

OF_RUNS: Final = frozenset({SubjectKind.AGENT_RUN, SubjectKind.TURN_WINDOW})


class RunSelector:
    """Keeps the ledger of LLM judges, and queues what is pending in it. `request` from any thread.

    The rest belongs to the judging thread. `windows`: of live runs, None: only closing passes are judged.
    """

    def __init__(
        self,
        judges: LlmJudges,
        policy: Policy,
        queue: JudgeQueue,
        recent: TracesToJudge,
        windows: Windows | None,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self.left_out = 0  # runs beyond MAX_RUNS of their trace
        self._clock = clock
        self._judges, self._policy, self._queue, self._windows = judges, policy, queue, windows
        self._recent = recent
        self._versions = {judge.name: judges.version(judge.name) for judge in judges.judges}
        self._requested = RequestedTraces()

    def request(self, keys: Iterable[TraceKey], *, by_hand: bool) -> None:
        """Judge these traces again at their next pass."""
        self._requested.add(keys, by_hand=by_hand)

    def select(
        self, trace: Trace, findings: Sequence[Finding], ledger: LedgerEntries, now: int, elsewhere: Elsewhere = NOTHING
    ) -> Selection:
        """New ledger entries of `trace`, whose detector findings are `findings`; updates `ledger`.

        A run is considered when it is over, a short one with its group, and again when what a closing pass looks at has
        changed, or when it showed at another trace before. What was said of runs that are none any more, or no
        subjects, is taken back.
        """
        by_hand = self._requested.take((trace.tenant, trace.trace_id))
        judged = subjects(trace)
        over = ready(trace, grouped=self._judges.grouped)
        rows: list[Judgement] = []
        for run in over[:MAX_RUNS]:
            decide_run = partial(self._decide, trace, run, findings, ledger, elsewhere, by_hand=by_hand)
            rows += self._run(trace, run, ledger, now, decide_run, by_hand=by_hand)
        for run in over[MAX_RUNS:MAX_NOTED]:
            beyond = list(self._run(trace, run, ledger, now, lambda: _BEYOND, by_hand=None))
            self.left_out += bool(beyond)
            rows += beyond
        ended = any(is_over(trace, run) for run in trace.runs)
        gone = self._take_back(trace, ledger, {run.id for run in judged}) if ended else ()
        watched = self._windows is not None and trace.state is TraceState.OPEN
        known_runs = frozenset(run_of(key) for key in (*ledger, *elsewhere)) if rows or watched else frozenset()
        ledger.update(keyed((*rows, *gone)))
        return Selection((*rows, *gone), known_runs)

    def withdraw(self, trace: Trace, whole: Trace, ledger: LedgerEntries, *, moved: bool) -> tuple[Judgement, ...]:
        """Entries that withdraw those at `trace`, whose runs show at `whole` now; `moved`: it has only just joined.

        Entries about a run hold until it is over, when it gets new ones. Updates `ledger`.
        """
        if not moved and not any(stands(word) for key, word in ledger.items() if key[0] in OF_RUNS):
            return ()
        live = {run.id for run in whole.runs if not is_over(whole, run)}
        words = {k: w for k, w in ledger.items() if k[0] == SubjectKind.TURN_WINDOW or k[1] not in live}
        gone = self._take_back(trace, words, ())
        ledger.update(keyed(gone))
        return gone

    def _take_back(self, trace: Trace, ledger: Elsewhere, known: Collection[str]) -> tuple[Judgement, ...]:
        """Withdraw the entries of runs that are not `known`, and drop those runs from the queue."""
        gone = {k: w for k, w in ledger.items() if k[0] in OF_RUNS and run_of(k) not in known and stands(w)}
        if not gone and known:
            return ()
        key = (trace.tenant, trace.trace_id)
        if self._windows is not None and not known:
            self._windows.forget(key)
        self._queue.withdraw(key, OF_RUNS, known)
        # Now, not when the judging began: whatever was said until they were withdrawn is older.
        return withdrawn(gone, trace, self._clock())

    def enqueue(self, judged: Sequence[JudgedTrace]) -> None:
        """Queue what is pending in these traces, which are stored; windows of open ones are watched."""
        for one in judged:
            groups_of = {r.id: g[0].id for g in groups(one.trace) for r in g} if self._judges.grouped else {}
            tasks = [
                replace(task, fresh=self._is_fresh(one, task), group=groups_of.get(task.subject_id, ""))
                for task in pending_tasks(one.ledger, SubjectKind.AGENT_RUN)
            ]
            if tasks:
                self._recent.keep(one.trace, one.judgement.findings)
                self._queue.add(*tasks)
            if self._windows is None:
                continue
            if one.trace.state is TraceState.OPEN and not one.trace.joined_to:
                self._windows.watch(one.trace, one.judgement.findings, self._clock(), one.known_runs)
            else:
                self._windows.forget((one.trace.tenant, one.trace.trace_id))

    def _is_fresh(self, judged: JudgedTrace, task: JudgeTask) -> bool:
        """Whether nothing of LLM judges is stored of a run: two queries less, 18 ms of CPU beside a million rows."""
        begun = self._windows is not None and self._windows.begun(task.subject_key)
        return task.subject_id not in judged.known_runs and not begun

    def _run(
        self,
        trace: Trace,
        run: AgentRun,
        ledger: LedgerEntries,
        now: int,
        decide_run: Callable[[], Decision],
        *,
        by_hand: bool | None,
    ) -> Iterable[Judgement]:
        subject = Subject(SubjectKind.AGENT_RUN, run.id, trace.trace_id, trace.tenant)
        revision = Revision(subject, content_hash(trace, run), trace.received_through)
        versions = {j.name: self._versions[j.name] for j in self._judges.of_run(run.role)}
        return new_entries(revision, versions, ledger, now, decide_run, by_hand=by_hand)

    def _decide(
        self,
        trace: Trace,
        run: AgentRun,
        findings: Sequence[Finding],
        ledger: Mapping[LedgerKey, LedgerRecord],
        elsewhere: Elsewhere,
        *,
        by_hand: bool | None,
    ) -> Decision:
        decision = with_earlier_draw(decide(self._policy, trace, run, findings), run.id, elsewhere)
        if decision.outcome is Outcome.PENDING:
            return decision
        if by_hand:
            return Decision(Outcome.PENDING, "asked for by hand", 0.0)
        words = (*ledger.items(), *elsewhere.items())
        live = [w.probability for k, w in words if k[0] == SubjectKind.TURN_WINDOW and run_of(k) == run.id]
        if live:
            # A finding that was taken back since had it judged while it ran: its provisional findings need an answer.
            # What chance would have decided now does not matter: it was judged with the probability that it had then.
            return replace(decision, outcome=Outcome.PENDING, reason="was judged while it ran", probability=max(live))
        return decision


_BEYOND: Final = Decision(Outcome.FILTERED, f"beyond the first {MAX_RUNS} agent runs of its trace", 0.0)
