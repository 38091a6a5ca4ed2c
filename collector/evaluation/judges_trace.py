"""Judging of one trace as in production: windows while it ran, if wanted, then a closing pass for each run."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tracejury.collector.judging.llm.judge_queue import JudgeTask
from tracejury.collector.judging.llm.judge_request import JudgeRequest, group_request, judge_requests
from tracejury.collector.judging.llm.judging_steps import JudgingSteps
from tracejury.collector.judging.llm.prompt_budget import PromptBudget
from tracejury.collector.judging.llm.verification import Verifier, Verify
from tracejury.judges.llm.case import NO_DESCRIPTION, Deliberation, ServiceDescription, Stage
from tracejury.judges.llm.client import Client
from tracejury.judges.llm.groups import Group, groups
from tracejury.judges.llm.members import LlmJudges
from tracejury.judges.llm.schedule import (
    RunProgress,
    WindowRules,
    closed_turns,
    content_hash,
    judged_so_far,
    new_plans,
    window_due,
)
from tracejury.judges.llm.subjects import subjects
from tracejury.schemas.errors import TracejuryError
from tracejury.schemas.findings import Finding
from tracejury.schemas.trajectory import AgentRun, Trace, Turn

from .judges_result import RunResult

Answer = Deliberation | TracejuryError


@dataclass(frozen=True, slots=True)
class Judging:
    """How traces are judged. `windows`: when those of a live run close; None: only finished runs are judged.

    `verify`: findings that are verified; nothing is waited for in vain, as nobody waits for an evaluation's findings.
    """

    preparation: PromptBudget
    windows: WindowRules | None = None
    verify: Verify = "off"


async def judge_trace(
    trace: Trace,
    how: Judging,
    client: Client,
    detected: Sequence[Finding] = (),
    description: ServiceDescription = NO_DESCRIPTION,
    *,
    verifier: Client | None = None,
) -> tuple[RunResult, ...]:
    """Every agent run of a finished trace judged, all of them at once; what fails is unscored, and never raised.

    `detected`: the detectors' findings in it, asked about where the preparation says so. `verifier`: another model.
    """
    steps = JudgingSteps(client, how.preparation, Verifier(verifier or client, how.verify, patience=None))
    judging = _TraceJudging(trace, how, steps, detected, description)
    panel = how.preparation.panel
    found = groups(trace) if panel.grouped else ()
    together = {run.id for group in found for run in group}
    alone = [(run,) for run in subjects(trace) if run.id not in together]
    results = [one for each in await asyncio.gather(*map(judging.results, (*found, *alone))) for one in each]
    order = {run.id: place for place, run in enumerate(trace.runs)}
    return tuple(sorted(results, key=lambda result: order[result.run_id]))


@dataclass(frozen=True, slots=True)
class _TraceJudging:
    trace: Trace
    how: Judging
    steps: JudgingSteps
    detected: Sequence[Finding]
    description: ServiceDescription

    async def results(self, group: Group) -> list[RunResult]:
        """Those of the runs of a group, or of one run."""
        try:
            return await self._judge(group)
        except Exception as error:  # noqa: BLE001  a fault of ours costs one call, not a night of them
            failures = {run.id: dict.fromkeys(self._judges(run), _reason(error)) for run in group}
            return [RunResult(run.id, run.role, failures=failures[run.id]) for run in group]

    def _judges(self, run: AgentRun) -> tuple[str, ...]:
        return tuple(judge.name for judge in self.how.preparation.panel.of_run(run.role))

    async def _judge(self, group: Group) -> list[RunResult]:
        live = [[answer async for answer in self._windows(run)] for run in group]
        provisional = [
            {f.id: f for answer in windows if isinstance(answer, Deliberation) for f in answer.findings}
            for windows in live
        ]
        requests = []
        for run, findings in zip(group, provisional, strict=True):
            task = _task(self.trace, run, Stage.CLOSING, self._judges(run))
            requests += self._requests(task, run, findings.values())
        answers = await self._closings(requests, group, [f for findings in provisional for f in findings.values()])
        said = [(request, closing) for request, closing in answers if not isinstance(closing, TracejuryError)]
        review = await self.steps.check(said, self.detected)
        results = [
            self._result(request, closing, windows, len(findings))
            for (request, closing), windows, findings in zip(answers, live, provisional, strict=True)
        ]
        return [replace(results[0], opinions=review.opinions), *results[1:]]

    async def _closings(
        self, requests: Sequence[JudgeRequest], group: Group, provisional: Sequence[Finding]
    ) -> Sequence[tuple[JudgeRequest, Answer]]:
        together = group_request(requests, group, self.steps.how) if len(group) > 1 else None
        if together is None:
            return [(request, await _answer(request, self.steps, provisional)) for request in requests]
        try:
            return await self.steps.judge_together(together, provisional)
        except TracejuryError as error:
            return [(request, error) for request in requests]

    def _result(self, request: JudgeRequest, closing: Answer, windows: Sequence[Answer], provisional: int) -> RunResult:
        run = request.case.run
        answers = [answer for answer in windows if isinstance(answer, Deliberation)]
        if isinstance(closing, TracejuryError):
            closing = Deliberation(failures=dict.fromkeys(request.case.judges, str(closing)))
        return RunResult(
            run_id=run.id,
            role=run.role,
            verdicts=closing.verdicts,
            findings=closing.findings,
            failures=dict(closing.failures),
            dropped=dict(sum((Counter(answer.dropped) for answer in (*answers, closing)), Counter())),
            provisional=provisional,
            lost=len(windows) - len(answers) + sum(bool(answer.failures) for answer in answers),
        )

    async def _windows(self, run: AgentRun) -> AsyncIterator[Answer]:
        """The answers to what would have been asked while the run went on."""
        if self.how.windows is not None:
            for task, so_far in moments(self.trace, run, self.how.preparation.panel, self.how.windows, self.detected):
                for request in self._requests(task, so_far, ()):
                    yield await _answer(request, self.steps, ())

    def _requests(self, task: JudgeTask, run: AgentRun, provisional: Iterable[Finding]) -> list[JudgeRequest]:
        return judge_requests(task, self.trace, run, self.steps.how, self.detected, provisional, self.description)


async def _answer(request: JudgeRequest, steps: JudgingSteps, provisional: Iterable[Finding]) -> Answer:
    try:
        return await steps.judge(request, provisional)
    except TracejuryError as error:
        return error


def _reason(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return " ".join(f"unexpected {type(error).__name__}: {error}".split())[:300]


def moments(
    trace: Trace, run: AgentRun, panel: LlmJudges, rules: WindowRules, detected: Iterable[Finding]
) -> Iterator[tuple[JudgeTask, AgentRun]]:
    """The windows and plans that would have been judged while the run went on, with the run as it was then.

    Turn by turn, by the rules of production; the last turn belongs to the closing pass.
    """
    progress = RunProgress()
    for count in range(1, len(closed_turns(run))):
        so_far = _up_to(run, count)
        now = _end(run.turns[count - 1])
        known = [f for f in detected if f.agent_run_id == run.id and f.turn is not None and f.turn < count]
        progress = replace(progress, since=progress.since or now)
        due, plans = window_due(so_far, progress, known, now, rules), new_plans(so_far, progress)
        if not due and not plans:
            continue
        stage = Stage.WINDOW if due else Stage.PLAN
        judges = panel.asked(run.role, stage, has_plan=bool(so_far.plans))
        task = _task(trace, so_far, stage, judges)
        yield replace(task, turns=(progress.turns, count), plans=plans), so_far
        progress = RunProgress(
            count if due else progress.turns, 0 if due else progress.since, judged_so_far(so_far).plans
        )


def _up_to(run: AgentRun, count: int) -> AgentRun:
    """The run as it was when the call after its first `count` turns arrived: that call's turn is still open."""
    turns = (*run.turns[:count], replace(run.turns[count], closed=False))
    known = {turn.index for turn in turns}
    plans = tuple(plan for plan in run.plans if plan in known)
    return replace(run, turns=turns, plans=plans, answer="", status="unfinished")


def _task(trace: Trace, run: AgentRun, stage: Stage, judges: Sequence[str]) -> JudgeTask:
    return JudgeTask(
        key=(trace.tenant, trace.trace_id),
        subject_id=run.id,
        stage=stage,
        judges=tuple(judges),
        content=content_hash(trace, run),
        probability=1.0,
    )


def _end(turn: Turn) -> int:
    """The end of a turn with all its spans, in unix nanos."""
    spans = (turn.llm, *(call.span for call in turn.tool_calls), *turn.wrappers)
    return max((span.raw.end for span in spans if span is not None), default=0)
