"""A small world of traces whose judging goes through all that can happen to it, on the real store."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from store_parts import a_finding, a_judged_trace, a_run, a_span

from tracejury.collector.judging.detect.judge_traces import standing
from tracejury.collector.judging.pipeline import compare
from tracejury.collector.rates import StoredRates
from tracejury.collector.store.clusters import StoredClusters
from tracejury.collector.store.derived.rederiving import derive_again, rederive
from tracejury.collector.store.joins import StoredJoins
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.store.trace_deleter import TraceDeleter
from tracejury.processors.normalize import normalize
from tracejury.schemas.checks import ItemAnswer
from tracejury.schemas.errors import StoreError
from tracejury.schemas.findings import Finding, FindingState
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.operations import UNKNOWN, USAGE, Operation
from tracejury.schemas.queries.performance import PerformanceUnit
from tracejury.schemas.rates import RateAnswer, RateQuery
from tracejury.schemas.taxonomy import Dimension, Severity
from tracejury.schemas.trajectory import AgentRun, Exchange, ToolCall, TraceState, Turn, TurnKind
from tracejury.schemas.verdicts import (
    JudgedSubject,
    JudgedTrace,
    Judgement,
    Outcome,
    Subject,
    SubjectKind,
    TraceSpend,
    Verdict,
    session_subject_id,
)

HOUR = 3_600_000_000_000
BASE = 497_232 * HOUR  # the first hour of a day
SECOND = 1_000_000_000
RULES = ("loops", "schema")
JUDGES = ("goal", "plans")
CHECKS = ("club-state", "club-tools")
PACKS = ("club",)
TRACES = tuple(f"{n:032x}" for n in range(1, 5))
LABELS = ("underspecification", "goal-switching", "impatience-and-hostility")
EXCHANGES = (Exchange("run-0", 0, 0, "Hello", "Hi"), Exchange("run-0", 1, 1, "And now?", "Done"))
"""Of a manager that calls a sub-agent in each."""
_UNDERIVED = "INSERT INTO underived SELECT tenant, '', {since:UInt64}, 0, 0 FROM traces GROUP BY tenant"
CLAIMS = 8
"""Findings that a detector or judge may make in a run or beside it."""


class KilledError(Exception):
    """The process dies here."""


class MortalStore(SharedStore):
    """The real store, which dies when something is next written to, or deleted from, `dies_at`."""

    dies_at = ""

    def insert(self, table: str, names: Sequence[str], columns: Sequence[Sequence[Any]], **options: Any) -> None:
        """Insert or die."""
        if table == self.dies_at and columns[0]:
            self.dies_at = ""
            raise KilledError
        super().insert(table, names, columns, **options)

    def command(self, sql: str, parameters: Mapping[str, Any] | None = None, *, mutated: str = "") -> None:
        """Write, delete, or die."""
        if self.dies_at and sql.strip().startswith((f"INSERT INTO {self.dies_at} ", f"DELETE FROM {self.dies_at} ")):
            self.dies_at = ""
            raise KilledError
        super().command(sql, parameters, mutated=mutated)


def span_of(run: str, turn: int, *, tool: bool) -> str:
    """The id of a call's span."""
    return f"{run}-{turn}-{'tool' if tool else 'llm'}"


def a_turn(trace_id: str, run: str, index: int) -> Turn:
    """A turn that asks for one tool and calls it."""
    llm = normalize(a_span(trace_id=trace_id, span_id=span_of(run, index, tool=False)))
    ran = normalize(a_span(trace_id=trace_id, span_id=span_of(run, index, tool=True)))
    name = ("search", "sum", "")[index % 3]
    call = ToolCall(name, {}, "", requested=True, executed=True, error=None, span=ran)
    return Turn(index, TurnKind.ACT, llm, (call,))


def runs_of(trace_id: str, count: int) -> tuple[AgentRun, ...]:
    """A manager and its sub-agents, of ever more turns."""
    return tuple(
        a_run(
            id=f"run-{n}",
            name=("planner", "coder", "reader")[n],
            role="manager" if n == 0 else "sub-agent",
            parent_id="" if n == 0 else "run-0",
            parent_turn=n - 1 if n else None,
            turns=tuple(a_turn(trace_id, f"run-{n}", i) for i in range(n + 1)),
        )
        for n in range(count)
    )


def simulated_by(trace_id: str, behaviour: str | None) -> dict[str, NormalizedSpan]:
    """The spans of a trace, of which one says that a simulated user behaves so."""
    said = {} if behaviour is None else {"tracejury.simulated": "true", "tracejury.behaviour": behaviour}
    spans = [a_span(trace_id=trace_id, span_id=f"{n}", attributes=said if n else {}) for n in range(2)]
    return {span.span_id: normalize(span) for span in spans}


def operations_of(seed: int) -> tuple[Operation, ...]:
    """Some operations of all kinds, as various as a small world has them."""
    dice = random.Random(seed)  # noqa: S311
    found = []
    for _ in range(dice.randrange(8)):
        kind = dice.choice([*PerformanceUnit, USAGE])
        timed = kind != USAGE and dice.random() < 0.8
        found.append(
            Operation(
                kind=kind,
                agent=dice.choice(["planner", "coder", ""]),
                model=dice.choice(["gpt", "<b>"]),
                tool=dice.choice(["search", "sum"]) if kind == PerformanceUnit.TOOL_CALL else "",
                prompt=dice.choice(["", "greet:1"]) if kind == PerformanceUnit.LLM_CALL else "",
                nanos=dice.randrange(5) * SECOND if timed else UNKNOWN,
                failed=kind != USAGE and dice.random() < 0.5,
                input_tokens=dice.randrange(1 << 40),
                output_tokens=dice.randrange(100),
                cached_tokens=dice.randrange(50),
                usd=dice.randrange(4) / 8,
                unpriced=dice.randrange(2),
            )
        )
    return tuple(found)


def claim(trace_id: str, number: int, judge: str, state: FindingState = FindingState.CURRENT) -> Finding:
    """The finding of that number: of runs 0 to 2 and of none, in turns and outside, of all kinds."""
    run = ("run-0", "run-1", "run-2", "")[number % 4]
    turn = None if not run or number % 3 == 2 else number % 2
    kinds = tuple(Dimension)[number % 7], tuple(Dimension)[(number + 3) % 7]
    return a_finding(
        trace_id=trace_id,
        span_id=span_of(run, turn or 0, tool=number % 2 == 0),
        tool_span_id=span_of(run, 0, tool=True) if number % 5 == 0 else "",
        agent_run_id=run,
        turn=turn,
        judge=judge,
        dimensions=kinds[: 1 + number % 2],
        category=("Resource Abuse", "Goal Deviation", "Timeout Issues")[number % 3],
        taxonomy=("trail", "own")[number % 7 == 6],
        severity=tuple(Severity)[number % 3],
        confidence=(0.1, 0.2, 0.4, 0.5, 0.6, 0.9)[number % 6],
        evidence=f"{judge} {number}",
        state=state,
    )


def of_check(trace_id: str, number: int, check: str) -> Finding:
    """The same of a pack's check."""
    found = claim(trace_id, number, check)
    of_pack = {"taxonomy": "club", "category": f"bad {check}", "judge": check, "evidence": f"{check} {number}"}
    fields = {f.name: getattr(found, f.name) for f in dataclasses.fields(found) if f.name not in ("id", "fingerprint")}
    return a_finding(**fields | of_pack)


@dataclass
class World:
    """One store through its life. `now`: unix nanos, which every act moves on."""

    dsn: str
    store: MortalStore
    now: int = BASE + 400 * HOUR
    saved: list[JudgedTrace | JudgedSubject] = field(default_factory=list)
    rates: StoredRates = field(init=False)

    def __post_init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self.rates = StoredRates(self.store, rules=RULES, packs=PACKS)

    def tick(self, seconds: int = 1) -> int:
        """Time passes."""
        self.now += seconds * SECOND
        return self.now

    def restart(self) -> None:
        """What was only in memory is gone."""
        self.store.close()
        self.store = MortalStore.open(self.dsn, self.store.config)
        self._begin()

    def judge(self, trace: int, *, hour: int, state: TraceState, claims: Sequence[int], **about: Any) -> None:
        """The detectors judge a trace.

        `about`: service, version, session, runs, known, joined, outcome, p, failed, simulated (a behaviour).
        """
        trace_id, now = TRACES[trace], self.tick()
        known = StoredJudging(self.store).load_findings([trace_id]).get(trace_id, [])
        found = [claim(trace_id, n, RULES[n % 2]) for n in claims]
        change = compare(found, {f.id: f for f in known}, standing(state), now)
        at = BASE + hour * HOUR + trace
        joined_to = TRACES[about["joined"]] if about["joined"] not in (None, trace) else ""
        if joined_to:
            StoredJoins(self.store).keep({trace_id: [f"trace:{joined_to}"]}, at)
        judged = a_judged_trace(
            judged_at=now,
            received=at,
            outcome=about["outcome"],
            trace_id=trace_id,
            service=about["service"],
            session_id=about["session"],
            state=state,
            runs=runs_of(trace_id, about["runs"]),
            conventions=("openinference",) if about["known"] else (),
            joined_to=joined_to,
            spans=simulated_by(trace_id, about["simulated"]),
            exchanges=EXCHANGES if about["runs"] == len(EXCHANGES) + 1 else (),
        )
        spent = TraceSpend(
            operations=operations_of(judged.judgement.judged_at) if about["outcome"] is Outcome.DONE else None
        )
        judgement = replace(
            judged.judgement,
            findings=change.findings,
            probability=about["p"],
            failures=tuple((rule, "raised") for rule in about["failed"]),
        )
        judged = replace(judged, changed=change.written, retracted=change.retracted)
        self._save(replace(judged, judgement=judgement, spent=spent))

    def hear(self, trace: int, run: int, judge: str, outcome: Outcome, claims: Sequence[int], **about: Any) -> None:
        """An LLM judge says something of a run; `about`: p, score, version."""
        trace_id, now = TRACES[trace], self.tick()
        subject = Subject(SubjectKind.AGENT_RUN, f"run-{run}", trace_id)
        stored = StoredLlmJudging(self.store).run_findings([trace_id]).get(trace_id, [])
        before = {f.id: f for f in stored if f.judge == judge and f.agent_run_id == subject.id}
        said = outcome in (Outcome.DONE, Outcome.CACHED, Outcome.NOT_APPLICABLE)
        found = [f for n in claims if (f := claim(trace_id, n, judge)).agent_run_id == subject.id] if said else []
        change = compare(found, before if said else {}, FindingState.CURRENT, now)
        verdict = Verdict(judge, about["version"], subject, about["score"], sampling_probability=about["p"])
        judgement = Judgement(
            subject, judge, about["version"], "content", now, BASE, outcome, findings=change.findings,
            verdicts=(verdict,) if said else (), probability=about["p"],
        )  # fmt: skip
        self._save(JudgedSubject(TraceState.SETTLED, (judgement,), change.written, change.retracted))

    def check(
        self, trace: int, exchange: str, check: str, outcome: Outcome, claims: Sequence[int], **about: Any
    ) -> None:
        """A pack's check says something of an exchange; `about`: p, value."""
        trace_id, now = TRACES[trace], self.tick()
        subject = Subject(SubjectKind.EXCHANGE, exchange, trace_id)
        stored = StoredLlmJudging(self.store).run_findings([trace_id]).get(trace_id, [])
        before = {f.id: f for f in stored if f.judge == check}
        said = outcome in (Outcome.DONE, Outcome.CACHED, Outcome.NOT_APPLICABLE)
        found = [of_check(trace_id, n, check) for n in claims] if said else []
        change = compare(found, before if said else {}, FindingState.CURRENT, now)
        value = about["value"] if outcome is not Outcome.NOT_APPLICABLE else None
        verdict = Verdict(check, "v1", subject, None, value=value, sampling_probability=about["p"])
        judgement = Judgement(
            subject, check, "v1", "content", now, BASE, outcome, findings=change.findings,
            verdicts=(verdict,) if said else (), probability=about["p"],
        )  # fmt: skip
        self._save(JudgedSubject(TraceState.SETTLED, (judgement,), change.written, change.retracted))

    def label(self, trace: int, exchange: str, labels: Sequence[str], outcome: Outcome, **about: Any) -> None:
        """The user of an exchange is said to behave so; `about`: p, value."""
        subject = Subject(SubjectKind.EXCHANGE, exchange, TRACES[trace])
        items = tuple(
            ItemAnswer(f"{one}: so", "absent", best=True) if one not in labels else
            ItemAnswer(f"{one}: so", "primary" if one == labels[0] else "second", best=False, grounded=True)
            for one in LABELS
        )  # fmt: skip
        verdict = Verdict("rut-behaviour", "v1", subject, None, value=about["value"], items=items)
        said = (verdict,) if outcome in (Outcome.DONE, Outcome.CACHED) else ()
        judgement = Judgement(
            subject, "rut-behaviour", "v1", "content", self.tick(), BASE, outcome, verdicts=said,
            probability=about["p"],
        )  # fmt: skip
        self._save(JudgedSubject(TraceState.SETTLED, (judgement,)))

    def close(self, trace: int, session: str) -> None:
        """A check says something of a session, or of a trace that is one of its own: no run is judged by that."""
        trace_id = "" if session else TRACES[trace]
        subject_id = session_subject_id("shop", session) if session else trace_id
        subject = Subject(SubjectKind.SESSION, subject_id, trace_id)
        verdict = Verdict("club-state", "v1", subject, 3, value=0.5)
        judgement = Judgement(
            subject, "club-state", "v1", "content", self.tick(), BASE, Outcome.DONE, verdicts=(verdict,)
        )
        self._save(JudgedSubject(TraceState.SETTLED, (judgement,)))

    def name(self, trace: int, name: str) -> None:
        """All errors that a trace has are said to be of one type."""
        of_it = "SELECT Id FROM errors FINAL WHERE TraceId = {trace:String}"
        while True:
            with self._mortal():
                ids = [row[0] for row in self.store.rows(of_it, {"trace": TRACES[trace]})]
                derive_again(self.store, "", StoredClusters(self.store).save_name(name, ids, self.tick()))
                return

    def resend(self, which: int) -> None:
        """Something is stored once more, however old it is."""
        if self.saved:
            self._store(self.saved[which % len(self.saved)])

    def delete(self, trace: int) -> None:
        """A trace is deleted, before anything that is said of it later."""
        through = BASE - 1
        ids = TraceDeleter(self.store, clock=self.tick).with_joined([TRACES[trace]])
        keys = [("", i) for i in ids]
        while True:  # whoever was told that it failed deletes again
            self.store.deletions.hold(keys, through)
            with self._mortal():
                TraceDeleter(self.store, clock=self.tick).delete(ids, through)
                self.store.deletions.let_go(keys)
                return

    def die(self, table: str) -> None:
        """The next time something is written to it, or deleted from it, the process dies."""
        self.store.dies_at = table

    def derive_again(self) -> None:
        """All is derived once more, as of what an earlier version stored."""
        upgraded = self.tick()
        while True:
            with self._mortal():
                self.store.command(_UNDERIVED, {"since": upgraded})
                for _ in rederive(self.store, self.tick):
                    pass
                return

    def ask(self, query: RateQuery) -> RateAnswer:
        """The rates."""
        return self.rates.ask(query)

    def _save(self, one: JudgedTrace | JudgedSubject) -> None:
        self.saved.append(one)
        self._store(one)

    def _store(self, one: JudgedTrace | JudgedSubject) -> None:
        while True:  # what was not stored to its end counts as not judged, so it is judged again
            with self._mortal():
                if isinstance(one, JudgedTrace):
                    StoredJudging(self.store).save([one])
                else:
                    StoredLlmJudging(self.store).save([one])
                return

    @contextmanager
    def _mortal(self) -> Iterator[None]:
        """What the process may die of; it is started again."""
        try:
            yield
        except (StoreError, KilledError) as error:
            if not isinstance(error, KilledError) and not isinstance(error.__cause__, KilledError):
                raise
            self.restart()
