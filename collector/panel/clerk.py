"""In the judging thread: decides which agent runs go before LLM judges, and says so in the ledger."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Final, Protocol

from ...judges.panel.members import Panel
from ...judges.panel.schedule import content_hash, is_over
from ...judges.panel.selection import Decision, Policy, decide
from ...processors.assemble import TraceKey
from ...schemas.findings import Finding
from ...schemas.trajectory import AgentRun, Trace
from ...schemas.verdicts import JudgedTrace, Judgement, Outcome, Subject, SubjectKind

MAX_RUNS: Final = 500
"""Agent runs of one trace that go before LLM judges; later ones do not, and are counted."""
MAX_NOTED: Final = 5000
"""Agent runs of one trace that stand in the ledger."""

CAUGHT_UP: Final = frozenset({Outcome.FAILED, Outcome.OVER_BUDGET})
"""What is judged again when somebody asks to catch up."""

AGAIN: Final = "asked for again after it failed"
"""Why something is pending for which no known answer will do: it may be what the judge failed of."""

MAX_ASKED: Final = 100_000
"""Traces that somebody asked for and that were not seen since; beyond it the first are forgotten."""

LedgerKey = tuple[str, str, str]  # (subject kind, subject id, judge)


class Noted(Protocol):
    """What the ledger says of one judge and one subject."""

    @property
    def version(self) -> str:
        """The judge's."""

    @property
    def input_hash(self) -> str:
        """What it saw, or is to see."""

    @property
    def outcome(self) -> Outcome:
        """What became of it."""


Ledger = MutableMapping[LedgerKey, Noted]


@dataclass(frozen=True, slots=True)
class Considered:
    """New rows of the ledger of a trace, and the ids of runs that had rows before."""

    rows: tuple[Judgement, ...] = ()
    heard: frozenset[str] = frozenset()


class Offers(Protocol):
    """Takes what was decided and stored."""

    def offer(self, judged: Sequence[JudgedTrace]) -> None:
        """These traces are stored, with their ledgers; any thread, never blocks for long."""


class Clerks(Protocol):
    """What the judging thread needs."""

    @property
    def reads(self) -> bool:
        """Whether it wants to know what the ledger says."""

    def consider(self, trace: Trace, findings: Sequence[Finding], ledger: Ledger, now: int) -> Considered:
        """New rows of the ledger."""

    def offer(self, judged: Sequence[JudgedTrace]) -> None:
        """These are stored."""


@dataclass(frozen=True, slots=True)
class Asked:
    """How somebody asked for a trace: `by_hand` for this one, else to catch up with what was left."""

    by_hand: bool


class Clerk:
    """Keeps the ledger of a panel. `expect` from any thread, the rest from the judging thread."""

    reads = True

    def __init__(self, panel: Panel, policy: Policy, calendar: Offers) -> None:
        self.left_out = 0  # runs beyond MAX_RUNS of their trace
        self._panel, self._policy, self._calendar = panel, policy, calendar
        self._versions = {judge.name: panel.version(judge.name) for judge in panel.judges}
        self._asked: dict[TraceKey, Asked] = {}
        self._lock = threading.Lock()

    def expect(self, keys: Iterable[TraceKey], *, by_hand: bool) -> None:
        """Somebody asks for these traces; it holds for their next judging."""
        with self._lock:
            self._asked.update(dict.fromkeys(keys, Asked(by_hand)))
            for key in list(islice(self._asked, max(len(self._asked) - MAX_ASKED, 0))):
                del self._asked[key]

    def consider(self, trace: Trace, findings: Sequence[Finding], ledger: Ledger, now: int) -> Considered:
        """What is new in the ledger of `trace`, whose detector findings are `findings`; `ledger` is brought up to date.

        A run is considered when it is over, and again when what a closing pass looks at has changed.
        """
        with self._lock:
            asked = self._asked.pop((trace.tenant, trace.trace_id), None)
        over = [run for run in trace.runs if is_over(trace, run)]
        rows: list[Judgement] = []
        for run in over[:MAX_RUNS]:
            rows += self._run(
                trace, run, ledger, asked, now, partial(self._decide, trace, run, findings, asked, ledger)
            )
        for run in over[MAX_RUNS:MAX_NOTED]:
            beyond = list(self._run(trace, run, ledger, None, now, lambda: _BEYOND))
            self.left_out += bool(beyond)
            rows += beyond
        rows += _orphaned(trace, ledger, now) if over else ()
        heard = frozenset(key.partition(":")[0] for _, key, _ in ledger) if rows else frozenset()
        ledger.update((_key(row), row) for row in rows)
        return Considered(tuple(rows), heard)

    def offer(self, judged: Sequence[JudgedTrace]) -> None:
        """These are stored: what is pending in them can begin."""
        self._calendar.offer(judged)

    def _run(
        self,
        trace: Trace,
        run: AgentRun,
        ledger: Ledger,
        asked: Asked | None,
        now: int,
        decide_run: Callable[[], Decision],
    ) -> Iterable[Judgement]:
        content = content_hash(trace, run)
        decision: Decision | None = None
        for judge in (j.name for j in self._panel.of_run(run.role)):
            version = self._versions[judge]
            subject = Subject(SubjectKind.AGENT_RUN, run.id, trace.trace_id, trace.tenant)
            old = ledger.get((subject.kind, subject.id, judge))
            if old is not None and old.input_hash == content and not _again(old, version, asked):
                continue
            decision = decision or decide_run()
            if decision.judges and judge not in decision.judges:
                decided = Decision(Outcome.FILTERED, "not among the judges that the policy names for it", 0.0)
            else:
                decided = decision
            if decided.outcome is Outcome.PENDING and old is not None and old.outcome is Outcome.FAILED:
                decided = replace(decided, reason=AGAIN)
            if (
                old is not None
                and old.outcome is Outcome.PENDING
                and (old.version, old.input_hash) != (version, content)
            ):
                yield _row(subject, judge, old.version, old.input_hash, trace, now, _GONE_BY)
            yield _row(subject, judge, version, content, trace, now, decided)

    def _decide(
        self,
        trace: Trace,
        run: AgentRun,
        findings: Sequence[Finding],
        asked: Asked | None,
        ledger: Mapping[LedgerKey, Noted],
    ) -> Decision:
        decision = decide(self._policy, trace, run, findings)
        if decision.outcome is Outcome.PENDING:
            return decision
        if asked is not None and asked.by_hand:
            return Decision(Outcome.PENDING, "asked for by hand", 0.0)
        if any(kind == SubjectKind.TURN_WINDOW and key.startswith(f"{run.id}:") for kind, key, _ in ledger):
            # A finding that was taken back since had it judged while it ran: its provisional findings need an answer.
            return replace(decision, outcome=Outcome.PENDING, reason="was judged while it ran")
        return decision


_BEYOND: Final = Decision(Outcome.FILTERED, f"beyond the first {MAX_RUNS} agent runs of its trace", 0.0)
_GONE_BY: Final = Decision(Outcome.SUPERSEDED, "it has changed since", 0.0)


def _again(old: Noted, version: str, asked: Asked | None) -> bool:
    """Whether a subject that has not changed since is to be judged again."""
    if asked is None:
        return False
    if asked.by_hand:
        return old.outcome is not Outcome.PENDING
    if old.outcome in (Outcome.SAMPLED_OUT, Outcome.FILTERED):
        return False
    return old.outcome in CAUGHT_UP or (old.version != version and old.outcome is not Outcome.PENDING)


def _orphaned(trace: Trace, ledger: Mapping[LedgerKey, Noted], now: int) -> Iterable[Judgement]:
    """Pending runs that late spans have made part of others."""
    known = {run.id for run in trace.runs}
    for (kind, subject_id, judge), old in list(ledger.items()):
        if kind == SubjectKind.AGENT_RUN and subject_id not in known and old.outcome is Outcome.PENDING:
            subject = Subject(SubjectKind.AGENT_RUN, subject_id, trace.trace_id, trace.tenant)
            yield _row(subject, judge, old.version, old.input_hash, trace, now, _GONE_BY)


def _row(
    subject: Subject, judge: str, version: str, content: str, trace: Trace, now: int, decision: Decision
) -> Judgement:
    return Judgement(
        subject=subject,
        judge=judge,
        version=version,
        input_hash=content,
        judged_at=now,
        received_through=trace.received_through,
        outcome=decision.outcome,
        reason=decision.reason,
        probability=decision.probability,
    )


def _key(row: Judgement) -> LedgerKey:
    return (row.subject.kind, row.subject.id, row.judge)


class NoClerk:
    """Without LLM judges there is nothing to decide."""

    reads = False

    def consider(self, trace: Trace, findings: Sequence[Finding], ledger: Ledger, now: int) -> Considered:  # noqa: ARG002  the protocol's
        """Nothing."""
        return Considered()

    def offer(self, judged: Sequence[JudgedTrace]) -> None:
        """Nothing."""
