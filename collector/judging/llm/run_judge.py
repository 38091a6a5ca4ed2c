"""LLM judges as a `Judge` of agent runs: read the run, ask, and compare with what is stored."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from tracejury.judges.llm.case import Deliberation, Stage
from tracejury.judges.llm.groups import Group
from tracejury.judges.llm.subjects import UNDECIDED, subjects
from tracejury.processors.assemble import TraceKey
from tracejury.schemas.detector_opinions import DetectorOpinion
from tracejury.schemas.findings import Finding, FindingState
from tracejury.schemas.trajectory import AgentRun, Trace
from tracejury.schemas.verdicts import JudgedSubject, Outcome

from .group_request import by_group, group_request
from .judge_queue import JudgeTask
from .judge_request import JudgeRequest, judge_requests
from .judging_steps import JudgingSteps
from .outcome import StoredJudgements, Versions, closing, unjudged, window
from .stored import StoredCases
from .watch import LlmJudgingObserver

T = TypeVar("T")


class Call(Protocol):
    """Runs a coroutine elsewhere and waits for it."""

    def __call__(self, coroutine: Coroutine[Any, Any, T], /) -> T:
        """The result of the call; raises its error."""


class RunJudge:
    """LLM judges of agent runs. Any thread; `call` runs a coroutine in the event loop of the client."""

    def __init__(
        self,
        steps: JudgingSteps,
        call: Call,
        store: StoredCases,
        describe: Callable[[Trace, AgentRun], str],
        versions: Versions,
        observer: LlmJudgingObserver,
        clock: Callable[[], int],
    ) -> None:
        self._steps, self._call, self._store, self._describe = steps, call, store, describe
        self._versions, self._observer, self._clock = versions, observer, clock
        self._reading, self._preparing = threading.Lock(), threading.Lock()
        self._last: tuple[tuple[TraceKey, int], tuple[Trace, tuple[Finding, ...]] | None] | None = None

    def ask(self, task: JudgeTask) -> Iterator[JudgedSubject]:
        """See `Judge`: the plans and the window of a live run, or its closing pass; with it, those of `task.others`."""
        newest = self._read(max(task.each, key=lambda one: one.received_through))
        trace = newest.trace
        there = [replace(one, trace=trace, findings=newest.findings) for one in task.each]
        runs = {run.id for run in trace.runs} if trace is not None else set()
        judged = {run.id for run in subjects(trace)} if trace is not None else set()
        left = [one for one in there if one.subject_id in judged]
        for one in there:
            if one.subject_id not in judged:
                known = UNDECIDED if one.subject_id in runs else "it became part of another run"
                why = known if trace is not None else "its spans are gone"
                yield unjudged(one, Outcome.SUPERSEDED, why, self._versions, one.judged_at(self._clock()))
        if trace is None:
            return
        for tasks, group in by_group(trace, left, self._steps.how.panel):
            results = self._together(trace, tasks, group) if len(group) > 1 else None
            for one in tasks if results is None else ():
                yield from self._alone(trace, one)
            yield from results or ()

    def _alone(self, trace: Trace, task: JudgeTask) -> Iterator[JudgedSubject]:
        stored, requests = self._requests(trace, task)
        for request in requests:
            began = time.perf_counter()
            said = self._call(self._steps.judge(request, stored.findings, bypass_cache=task.bypass_cache))
            self._observer.judged(request.case.stage, said, time.perf_counter() - began)
            (opinions,) = self._check_detectors([(request, said)], bypass_cache=task.bypass_cache)
            yield replace(self._outcome(task, request, said, stored), opinions=opinions)

    def _together(self, trace: Trace, tasks: Sequence[JudgeTask], group: Group) -> list[JudgedSubject] | None:
        """The closing passes of runs of a group by one call; None where the group is too large for one."""
        prepared = [self._requests(trace, task) for task in tasks]
        with self._preparing:
            request = group_request([requests[0] for _, requests in prepared], group, self._steps.how)
        if request is None:
            return None
        began = time.perf_counter()
        known = {f.id: f for stored, _ in prepared for f in stored.findings}
        bypass = any(task.bypass_cache for task in tasks)
        answers = self._call(self._steps.judge_together(request, tuple(known.values()), bypass_cache=bypass))
        spent = (time.perf_counter() - began) / len(answers)
        for shown, said in answers:
            self._observer.judged(shown.case.stage, said, spent)
        checked = self._check_detectors(answers, bypass_cache=bypass)
        return [
            replace(self._outcome(task, shown, said, stored), opinions=opinions)
            for task, (stored, _), (shown, said), opinions in zip(tasks, prepared, answers, checked, strict=True)
        ]

    def _requests(self, trace: Trace, task: JudgeTask) -> tuple[StoredJudgements, list[JudgeRequest]]:
        run = trace.run(task.subject_id)
        assert run is not None  # noqa: S101  it was looked up before
        stored = StoredJudgements() if task.fresh else self._store.stored(trace, task.subject_id)
        open_findings = [f for f in stored.findings if f.state is FindingState.PROVISIONAL and f.judge in task.judges]
        description = self._describe(trace, run)
        with self._preparing:  # threads that compute slow down the receivers: one at a time
            return stored, judge_requests(task, trace, run, self._steps.how, open_findings, description)

    def _check_detectors(
        self, judged: Sequence[tuple[JudgeRequest, Deliberation]], *, bypass_cache: bool
    ) -> list[tuple[DetectorOpinion, ...]]:
        """What the judges say of the detectors' errors, once they have answered: for each pass, of those in its run."""
        if not any(self._steps.checks(request, said) for request, said in judged):
            return [() for _ in judged]
        detected = self._store.detected(judged[0][0].case.trace)  # what another pass was told is in the store alone
        review = self._call(self._steps.check(judged, detected, bypass_cache=bypass_cache))
        self._observer.detectors_checked(review)
        home = {finding.id: finding.agent_run_id for finding in detected}
        first, *others = (request.case.run.id for request, _ in judged)
        by_run: dict[str, list[DetectorOpinion]] = {run_id: [] for run_id in (first, *others)}
        for opinion in review.opinions:
            by_run.get(home.get(opinion.finding_id, first), by_run[first]).append(opinion)
        return [tuple(opinions) for opinions in by_run.values()]

    def _read(self, task: JudgeTask) -> JudgeTask:
        if task.trace is not None:
            return task
        with self._reading:
            # A trace with many runs comes here once for each of them, one after another.
            asked = (task.key, task.received_through)
            if self._last is None or self._last[0] != asked:
                self._last = (asked, self._store.load(task.key))
            found = self._last[1]
        return replace(task, trace=found[0], findings=found[1]) if found else task

    def _outcome(
        self, task: JudgeTask, request: JudgeRequest, said: Deliberation, stored: StoredJudgements
    ) -> JudgedSubject:
        now = task.judged_at(self._clock())
        if request.case.stage is Stage.CLOSING:
            return closing(task, request.case, said, stored, self._versions, now)
        return window(task, request.case, request.turns, said, stored.findings, self._versions, now)
