"""The packs as a `Judge` of exchanges and sessions: read the session, ask, and compare with what is stored."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, NamedTuple

from tracejury.collector.judging.llm.judge_queue import JudgeTask
from tracejury.collector.judging.llm.judging_steps import JudgingSteps, ask_in_chapters
from tracejury.collector.judging.llm.metrics import LlmJudgingMetrics
from tracejury.collector.judging.llm.outcome import checked, unjudged
from tracejury.collector.judging.llm.run_prompts import run_prompts
from tracejury.collector.judging.llm.stored import StoredCases
from tracejury.collector.judging.llm.verification import Evidence
from tracejury.collector.judging.pipeline import NotYetError
from tracejury.collector.worker.loop_runner import LoopRunner
from tracejury.judges.checks.case import AskedCheck, CheckCase
from tracejury.judges.checks.check_types import Check
from tracejury.judges.checks.deliberation import judge_checks
from tracejury.judges.checks.grounding import Grounds
from tracejury.judges.checks.item_source import ItemCase, RecordedSubject
from tracejury.judges.checks.questions import Mode
from tracejury.judges.llm.case import NO_DESCRIPTION, Deliberation, ServiceDescription
from tracejury.judges.packs.asked import asked_check, of_exchange
from tracejury.judges.packs.pack_types import Pack
from tracejury.judges.packs.session_sums import SessionSums, joined
from tracejury.processors.doctor.examine import without_tool_spans
from tracejury.processors.session_states import states
from tracejury.processors.transcript import UNCUT, session_record
from tracejury.processors.transcript.session_record import upto
from tracejury.schemas.checks import ItemAnswer
from tracejury.schemas.errors import PromptTooLongError
from tracejury.schemas.findings import Finding
from tracejury.schemas.llm_rows import LedgerRow
from tracejury.schemas.simulation import is_simulated
from tracejury.schemas.trajectory import AgentRun, Trace, TraceState
from tracejury.schemas.transcript import Chapter, SessionRecord
from tracejury.schemas.verdicts import JudgedSubject, Outcome, Subject, SubjectKind, session_of

from .pack_panel import PackPanel, SessionTask
from .stored_sessions import SessionKey, StoredSessions

GOAL: Final = "goal-fulfilment"
"""The judge whose verdict on the last exchange's run tells whether a task was completed where nothing else does."""


@dataclass(frozen=True, slots=True)
class _Session:
    """The traces of a session in order of time, their record, and its task.

    `detected`: findings of detectors in the last trace; `left_out`: number of earlier traces that are not looked at.
    """

    traces: tuple[Trace, ...]
    record: SessionRecord
    task: SessionTask
    detected: tuple[Finding, ...] = ()
    left_out: int = 0


class _Way(NamedTuple):
    """How checks are asked. `so_far`: of the session up to the end of an exchange, not of the exchange alone."""

    mode: Mode
    runs: int
    early_stop: bool
    so_far: bool


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
        describe: Callable[[Trace, AgentRun], ServiceDescription],
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
        recorded = recorded_subject(upto(session.record, number), session.traces, number)
        subject = Subject(SubjectKind.EXCHANGE, task.subject_id, trace.trace_id, trace.tenant)
        checks = [one for name, one in self._panel.checks.items() if name in task.judges]
        settling = [check for _, check in checks if check.settles]
        most = session.task.match.card.most_exchanges if settling and session.task.match.card else None
        beyond = most is not None and number >= most
        settled = {} if beyond else self._sessions.settled(task.key[0], places[:number], settling)
        asked = []
        for pack, check in checks:
            if beyond and check.settles:
                asked.append(AskedCheck(check, pack=pack.name, unanswered=f"beyond the {most} exchanges of its task"))
            else:
                case = ItemCase(check, recorded, partial(session.task.terms, pack))
                asked.append(asked_check(pack, case, settled.get(check.name, frozenset())))
        said = [self._asked(task, subject, recorded, way, checks) for way, checks in self._grouped(asked, recorded)]
        told = of_exchange(joined(said), session.detected, self._panel.checks)
        stored = self._own_findings(task, trace)
        now = task.judged_at(self._clock())
        return checked(task, subject, trace.state, told, stored, session.detected, self._panel.versions, now)

    def _session(self, task: JudgeTask, session: _Session) -> JudgedSubject:
        tenant, ids = task.key[0], [trace.trace_id for trace in session.traces]
        last = session.record.exchanges[-1]
        rows = self._sessions.outcomes(tenant, ids)
        if any(row.outcome is Outcome.PENDING and _leads_to(row, last.exchange.run_id) for row in rows):
            raise NotYetError("its exchanges are judged first")
        if session.task.match.problem:
            return self._not_judged(task, Outcome.FILTERED, session.task.match.problem)
        subject = Subject(SubjectKind.SESSION, task.subject_id, task.key[1], tenant)
        verdicts = self._sessions.verdicts(tenant, ids)
        goal = next((v for v in verdicts if v.judge == GOAL and v.subject.id == last.exchange.run_id), None)
        recorded = recorded_subject(session.record, session.traces, None, session.left_out)
        most = session.task.match.card.most_exchanges if session.task.match.card else None
        versions = self._panel.versions
        sums = SessionSums(subject, session.record, verdicts, versions, task.probability, session.left_out, most)
        said: list[Deliberation] = []
        outcomes: dict[str, ItemAnswer] = {}
        of_session = [one for one in self._panel.checks.values() if one[1].subject == "session" and not one[1].of]
        for in_turn in _in_turn(of_session):
            asked: list[AskedCheck] = []
            for pack, check in in_turn:
                one = asked_check(pack, ItemCase(check, recorded, partial(session.task.terms, pack), goal, outcomes))
                asked.append(sums.settle(one) if check.settles else one)
            said += [self._asked(task, subject, recorded, *way) for way in self._grouped(asked, recorded)]
            for pack, check in in_turn:
                if _leads(check) and (outcome := sums.outcome(joined(said), pack, check)):
                    outcomes[check.items.name] = outcome
        found = self._sessions.findings(tenant, [*recorded.traces])
        grounds = Grounds(CheckCase(subject, session.record, recorded.traces, ()))
        told = sums.complete(joined(said), self._panel.checks, found, grounds.by_structure)
        stored = [finding for finding in found if finding.judge in self._panel.of_sessions]
        now = task.judged_at(self._clock())
        return checked(task, subject, TraceState.SETTLED, told, stored, found, versions, now)

    def _grouped(self, asked: Iterable[AskedCheck], recorded: RecordedSubject) -> list[tuple[_Way, list[AskedCheck]]]:
        """The checks by how they are asked: those that are asked alike share calls."""
        simulated = is_simulated(recorded.traces[recorded.last.trace_id].spans)
        groups: dict[_Way, list[AskedCheck]] = {}
        for one in asked:
            settings = self._panel.checks[one.check.name][0].settings
            so_far = one.check.settles == "best" and recorded.number is not None
            way = _Way(settings.mode, one.check.runs, settings.early_stop and not simulated, so_far)
            groups.setdefault(way, []).append(one)
        return [*groups.items()]

    # What a case is made of.

    def _session_of(self, task: JudgeTask) -> _Session | None:
        """The session of a task; of an exchange's, as far as its own trace, which comes last."""
        tenant, trace_id = task.key
        if not trace_id:
            found = session_of(Subject(task.kind, task.subject_id, ""))
            key = SessionKey(tenant, *found) if found else None
            traces = self._sessions.load(tenant, self._sessions.traces(key)) if key else []
            record = self._sessions.record(key.session_id if key else "", traces)
            left_out = self._sessions.left_out(key) if key else 0
            return _Session(tuple(traces), record, SessionTask(self._panel, traces), left_out=left_out)
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
        record = self._sessions.record(trace.session_id or trace.trace_id, traces)
        return _Session(tuple(traces), record, SessionTask(self._panel, traces), detected)

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
        self, task: JudgeTask, subject: Subject, recorded: RecordedSubject, way: _Way, checks: Sequence[AskedCheck]
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
            exchange=None if way.so_far else recorded.number,
            description=self._describe(trace, run) if run is not None else NO_DESCRIPTION,
            probability=task.probability,
        )
        known = self._sessions.findings(task.key[0], [*case.traces]) if self._steps.verifier.of_packs else ()
        began = time.perf_counter()
        answer = ask_in_chapters(
            case.record.transcript,
            case.description.text,
            self._steps.how,
            lambda chapters: self._checked(task, case, way, chapters, known),
        )
        try:
            said = self._run(answer)
        except PromptTooLongError as error:
            return Deliberation(failures={asked.check.name: str(error) for asked in checks})
        self._observer.judged(task.stage, said, time.perf_counter() - began)
        return said

    async def _checked(
        self, task: JudgeTask, case: CheckCase, way: _Way, chapters: Sequence[Chapter], known: Sequence[Finding]
    ) -> Deliberation:
        """One try of asking, and what was found verified, where findings of packs are. `known`: earlier findings."""
        deliberating = judge_checks(case, self._panel.how(way.mode, early_stop=way.early_stop), chapters)
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

    def _not_judged(self, task: JudgeTask, outcome: Outcome, why: str) -> JudgedSubject:
        return unjudged(task, outcome, why, self._panel.versions, task.judged_at(self._clock()))


def recorded_subject(
    record: SessionRecord, traces: Sequence[Trace], number: int | None = None, left_out: int = 0
) -> RecordedSubject:
    """An exchange (`number`) of a session, or the session, for the sources of items; `left_out`: traces before it."""
    by_id = {trace_id: trace for trace in traces for trace_id in trace.trace_ids}
    last = len(record.exchanges) - 1
    unseen = f"{left_out} earlier traces left out" if left_out and number is None else ""
    return RecordedSubject(
        record,
        by_id,
        states=lambda: states(record, last, by_id[record.exchanges[last].trace_id]),
        unseen=lambda: unseen or without_tool_spans(traces),
        number=number,
    )


def _in_turn(checks: Sequence[tuple[Pack, Check]]) -> list[list[tuple[Pack, Check]]]:
    """Checks by when they are asked: those whose outcome others go by first, of these the ones that need no model."""
    leading = sorted((one for one in checks if _leads(one[1])), key=lambda one: one[1].asks)
    return [leading, [one for one in checks if not _leads(one[1])]]


def _leads(check: Check) -> bool:
    return check.items.outcome and bool(check.items.needs)


def _leads_to(row: LedgerRow, last_run: str) -> bool:
    """Whether a session follows from this subject: its exchanges, and the goal of the last run."""
    return row.kind is SubjectKind.EXCHANGE or (row.judge == GOAL and row.subject_id == last_run)
