"""The packs as a `Judge` of exchanges and sessions: read the session, ask, and compare with what is stored."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from tracejury.collector.judging.llm.judge_queue import JudgeTask
from tracejury.collector.judging.llm.judging_steps import JudgingSteps, longest
from tracejury.collector.judging.llm.metrics import LlmJudgingMetrics
from tracejury.collector.judging.llm.outcome import checked, unjudged
from tracejury.collector.judging.llm.prompt_budget import ask_shortened
from tracejury.collector.judging.llm.run_prompts import run_prompts
from tracejury.collector.judging.llm.stored import StoredCases
from tracejury.collector.judging.llm.verification import Evidence
from tracejury.collector.judging.pipeline import NotYetError
from tracejury.collector.worker.loop_runner import LoopRunner
from tracejury.judges.checks.case import AskedCheck, CheckCase
from tracejury.judges.checks.check_types import Check, ItemSource
from tracejury.judges.checks.deliberation import judge_checks
from tracejury.judges.checks.questions import Mode
from tracejury.judges.llm.case import Deliberation
from tracejury.judges.packs.pack_types import Pack
from tracejury.processors.transcript import UNCUT, session_record, split
from tracejury.processors.transcript.session_record import upto
from tracejury.schemas.checks import ItemAnswer
from tracejury.schemas.errors import PromptTooLongError
from tracejury.schemas.findings import Finding
from tracejury.schemas.llm_rows import LedgerRow
from tracejury.schemas.trajectory import AgentRun, Trace, TraceState
from tracejury.schemas.transcript import Chapter, SessionRecord
from tracejury.schemas.verdicts import JudgedSubject, Outcome, Subject, SubjectKind, Verdict, session_of

from .oracle_cases import asked_failure, asked_oracle
from .pack_cases import RecordedSubject, asked_of, by_trace_id, completed, without_detected
from .pack_panel import PackPanel, SessionTerms
from .session_verdicts import joined, session_verdict, violated, with_earlier
from .stored_sessions import SessionKey, StoredSessions

GOAL: Final = "goal-fulfilment"
"""The judge whose verdict on the last exchange's run tells whether a task was completed where nothing else does."""


@dataclass(frozen=True, slots=True)
class _Session:
    """The traces of a session in order of time, and its record.

    `detected`: findings of detectors in the last trace; `left_out`: number of earlier traces that are not looked at.
    """

    traces: tuple[Trace, ...]
    record: SessionRecord
    detected: tuple[Finding, ...] = ()
    left_out: int = 0


class PackJudge:
    """Judges exchanges and sessions by the checks of packs. Any thread; `runner` is of the client's event loop.

    `describe`: what is known of the service of a run.
    """

    def __init__(
        self,
        panel: PackPanel,
        cases: StoredCases,
        sessions: StoredSessions,
        steps: JudgingSteps,
        runner: LoopRunner,
        describe: Callable[[Trace, AgentRun], str],
        observer: LlmJudgingMetrics,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._panel, self._cases, self._sessions, self._steps, self._run = panel, cases, sessions, steps, runner.run
        self._describe, self._observer, self._clock = describe, observer, clock

    def ask(self, tasks: Sequence[JudgeTask]) -> Iterator[JudgedSubject]:
        """See `Judge`: an exchange that has ended, or a session that was closed.

        Raises:
            NotYetError: exchanges of the session are still to be judged.
        """
        (task,) = tasks
        session = self._session_of(task)
        if session is None or not session.record.exchanges:
            yield self._not_judged(task, Outcome.SUPERSEDED, "its spans are gone")
        else:
            judge = self._exchange if task.kind is SubjectKind.EXCHANGE else self._session
            shown = ((i, trace.received_through) for trace in session.traces for i in trace.trace_ids)
            yield replace(judge(task, session), shown=tuple(shown))

    def _exchange(self, task: JudgeTask, session: _Session) -> JudgedSubject:
        trace = session.traces[-1]
        places = [(one.trace_id, one.exchange.id) for one in session.record.exchanges]
        if (own := (trace.trace_id, task.subject_id)) not in places:
            return self._not_judged(task, Outcome.SUPERSEDED, "it became part of another exchange")
        number = places.index(own)
        recorded = RecordedSubject(upto(session.record, number), by_trace_id(session.traces), number)
        subject = Subject(SubjectKind.EXCHANGE, task.subject_id, trace.trace_id, trace.tenant)
        early = self._panel.early.intersection(task.judges)
        terms = self._panel.terms(session.traces) if early else None  # it takes a look at all spans of the session
        violated = self._violated(task, places[:number]) if early else frozenset()
        asked: dict[Mode, list[AskedCheck]] = {}
        for pack in self._panel.packs:
            policies = [policy for policy in terms.policies(pack) if policy not in violated] if terms else []
            for check in (one for one in pack.checks if one.name in task.judges):
                if terms is not None and check.items is ItemSource.ORACLE:
                    one = asked_oracle(pack, check, recorded, terms)
                else:
                    one = asked_of(pack, check, recorded, policies)
                asked.setdefault(pack.settings.mode, []).append(one)
        said = [self._asked(task, subject, recorded, mode, checks) for mode, checks in asked.items()]
        told = without_detected(joined(said), session.detected, self._panel.packs)
        stored = self._own_findings(task, trace)
        now = task.judged_at(self._clock())
        return checked(task, subject, trace.state, told, stored, session.detected, self._panel.versions, now)

    def _session(self, task: JudgeTask, session: _Session) -> JudgedSubject:
        tenant, ids = task.key[0], [trace.trace_id for trace in session.traces]
        last = session.record.exchanges[-1]
        rows = self._sessions.outcomes(tenant, ids)
        if any(row.outcome is Outcome.PENDING and _leads_to(row, last.exchange.run_id) for row in rows):
            raise NotYetError("its exchanges are judged first")
        terms = self._panel.terms(session.traces)
        if terms.match.problem:
            return self._not_judged(task, Outcome.FILTERED, terms.match.problem)
        subject = Subject(SubjectKind.SESSION, task.subject_id, task.key[1], tenant)
        verdicts = self._sessions.verdicts(tenant, ids)
        goal = next((v for v in verdicts if v.judge == GOAL and v.subject.id == last.exchange.run_id), None)
        recorded = RecordedSubject(session.record, by_trace_id(session.traces))
        exchanges = _in_order(verdicts, session.record)
        said: list[Deliberation] = []
        before: set[tuple[str, str, str]] = set()  # judge, span and quote of what was found in exchanges
        oracles = {n: asked_oracle(p, p.check(n), recorded, terms) for n, p in self._panel.oracles.items()}
        if session.left_out:  # what is missing may have been called there
            why = f"{session.left_out} earlier traces left out"
            oracles = {n: replace(one, answers=(), unanswered=why) for n, one in oracles.items()}
        asked: dict[Mode, list[AskedCheck]] = {}
        # An oracle is asked of the whole session again.
        earlier = {n: () if n in oracles else violated(exchanges.get(n, ())) for n in self._panel.versions}
        for pack in self._panel.packs:
            mine = asked.setdefault(pack.settings.mode, [])
            for check in pack.checks:
                if check.subject == "exchange":
                    said.append(Deliberation((self._sum(task, pack, check, subject, session, exchanges),)))
                else:
                    mine.append(_asked_of_session(pack, check, recorded, terms, goal, oracles, earlier[check.name]))
        for mode, checks in asked.items():
            told = self._asked(task, subject, recorded, mode, checks)
            for one in checks:
                name = one.check.name
                told = with_earlier(told, one.check, self._panel.formulas[name], earlier[name])
                before.update((name, answer.span_id, answer.quote) for answer in earlier[name])
            said.append(told)
        found = self._sessions.findings(tenant, [*recorded.traces])
        stored = [
            f for f in found if f.judge in self._panel.of_sessions and (f.judge, f.span_id, f.evidence) not in before
        ]
        now = task.judged_at(self._clock())
        return checked(task, subject, TraceState.SETTLED, joined(said), stored, found, self._panel.versions, now)

    # What a case is made of.

    def _session_of(self, task: JudgeTask) -> _Session | None:
        """The session of a task; of an exchange's, as far as its own trace, which comes last."""
        tenant, trace_id = task.key
        if not trace_id:
            found = session_of(Subject(task.kind, task.subject_id, ""))
            key = SessionKey(tenant, *found) if found else None
            traces = self._sessions.load(tenant, self._sessions.traces(key)) if key else []
            record = self._sessions.record(key.session_id if key else "", traces)
            return _Session(tuple(traces), record, left_out=self._sessions.left_out(key) if key else 0)
        loaded = self._cases.load(task.key, task.received_through)
        if loaded is None:
            return None
        trace, detected = loaded
        before: Sequence[Trace] = ()
        if trace.session_id:
            listed = self._sessions.traces(SessionKey(tenant, trace.service, trace.session_id))
            others = [one for one in listed if one.trace_id not in trace.trace_ids]
            earlier = [one for one in others if (one.start, one.trace_id) < (trace.start, trace.trace_id)]
            before = self._sessions.load(tenant, earlier)
        traces = [*before, trace]
        return _Session(tuple(traces), self._sessions.record(trace.session_id or trace.trace_id, traces), detected)

    def _violated(self, task: JudgeTask, before: Sequence[tuple[str, str]]) -> frozenset[str]:
        """Policies that were violated in earlier exchanges: they are not asked about again."""
        verdicts = self._sessions.verdicts(task.key[0], sorted({trace_id for trace_id, _ in before}))
        earlier = [v for v in verdicts if (v.subject.trace_id, v.subject.id) in before and v.judge in self._panel.early]
        return frozenset(answer.item for answer in violated(earlier))

    def _own_findings(self, task: JudgeTask, trace: Trace) -> list[Finding]:
        """Earlier findings of the task's judges in its exchange, or where no exchange is any more."""
        began = trace.exchange_by_run()
        found: list[Finding] = []
        for finding in self._sessions.findings(trace.tenant, trace.trace_ids):
            at = trace.exchange_at(finding.agent_run_id, finding.turn) or began.get(finding.agent_run_id)
            if finding.judge in task.judges and (at is None or at.id == task.subject_id):
                found.append(finding)
        return found

    # Asking, and what is made of the answers.

    def _asked(
        self, task: JudgeTask, subject: Subject, recorded: RecordedSubject, mode: Mode, checks: Sequence[AskedCheck]
    ) -> Deliberation:
        """The answer to checks of any packs, in smaller chapters where the model cannot read the record as it is."""
        last = recorded.last
        trace = recorded.traces[last.trace_id]
        run = trace.run(last.exchange.run_id)
        case = CheckCase(
            subject=subject,
            record=recorded.record,
            traces=recorded.traces,
            checks=tuple(checks),
            service=trace.service,
            exchange=recorded.number,
            architecture=self._describe(trace, run) if run is not None else "",
            probability=task.probability,
        )
        how = self._steps.how
        record, room = case.record.transcript, how.room(case.architecture)
        known = self._sessions.findings(task.key[0], [*case.traces]) if self._steps.verifier.of_packs else ()
        began = time.perf_counter()
        answer = ask_shortened(
            split(record, room, how.count),
            lambda chapters: self._checked(task, case, mode, chapters, known),
            partial(longest, how.count),
            lambda room: split(record, room, how.count),
        )
        try:
            said = self._run(answer)
        except PromptTooLongError as error:
            return Deliberation(failures={asked.check.name: str(error) for asked in checks})
        self._observer.judged(task.stage, said, time.perf_counter() - began)
        return said

    async def _checked(
        self, task: JudgeTask, case: CheckCase, mode: Mode, chapters: Sequence[Chapter], known: Sequence[Finding]
    ) -> Deliberation:
        """One try of asking, and what was found verified, where findings of packs are. `known`: earlier findings."""
        deliberating = judge_checks(case, self._panel.how(mode), chapters)
        said = await run_prompts(deliberating, self._steps.client, bypass_cache=task.bypass_cache)
        record, traces = case.record.transcript, {trace.trace_id: trace for trace in case.traces.values()}
        evidence = Evidence(
            record=lambda: session_record(record.run_id, traces.values(), UNCUT).transcript,
            header=record.header,
            service=case.service,
            run_id=case.judged.exchange.run_id if case.judged else case.subject.id,
        )
        findings = await self._steps.verifier.verify(said.findings, evidence, known, bypass_cache=task.bypass_cache)
        return replace(said, findings=findings)

    def _sum(
        self,
        task: JudgeTask,
        pack: Pack,
        check: Check,
        subject: Subject,
        session: _Session,
        exchanges: Mapping[str, Sequence[Verdict]],
    ) -> Verdict:
        """The session's verdict of a check that was asked of its exchanges."""
        version, said = self._panel.versions[check.name], exchanges.get(check.name, ())
        unjudged = len(session.record.exchanges) - len(said)
        missing = {"exchanges not judged": unjudged, "earlier traces left out": session.left_out}
        return session_verdict(check, version, pack.formulas[check.name], subject, said, task.probability, missing)

    def _not_judged(self, task: JudgeTask, outcome: Outcome, why: str) -> JudgedSubject:
        return unjudged(task, outcome, why, self._panel.versions, task.judged_at(self._clock()))


def _asked_of_session(
    pack: Pack,
    check: Check,
    recorded: RecordedSubject,
    terms: SessionTerms,
    goal: Verdict | None,
    oracles: Mapping[str, AskedCheck],
    earlier: Sequence[ItemAnswer],
) -> AskedCheck:
    """A check of sessions with its items. `earlier`: what exchanges told of them that is not asked about again."""
    match check.items:
        case ItemSource.ORACLE:
            return oracles[check.name]
        case ItemSource.COMPLETION:
            outcome = next((one.answers[0] for one in oracles.values() if one.answers), None)
            return completed(pack, check, recorded, terms, goal, outcome)
        case ItemSource.FAILURE:
            return asked_failure(pack, check, recorded, terms, goal)
        case _:
            known = {answer.item for answer in earlier}
            left = [policy for policy in terms.policies(pack) if policy not in known]
            return asked_of(pack, check, recorded, left, terms.note)


def _leads_to(row: LedgerRow, last_run: str) -> bool:
    """Whether a session follows from this subject: its exchanges, and the goal of the last run."""
    return row.kind is SubjectKind.EXCHANGE or (row.judge == GOAL and row.subject_id == last_run)


def _in_order(verdicts: Iterable[Verdict], record: SessionRecord) -> dict[str, list[Verdict]]:
    """By judge, the verdicts on the record's exchanges in their order."""
    place = {(one.trace_id, one.exchange.id): number for number, one in enumerate(record.exchanges)}
    found: dict[str, list[tuple[int, Verdict]]] = {}
    for verdict in verdicts:
        number = place.get((verdict.subject.trace_id, verdict.subject.id))
        if number is not None and verdict.subject.kind is SubjectKind.EXCHANGE:
            found.setdefault(verdict.judge, []).append((number, verdict))
    return {judge: [v for _, v in sorted(said, key=lambda one: one[0])] for judge, said in found.items()}
