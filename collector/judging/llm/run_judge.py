"""LLM judges as a `Judge` of agent runs: read the run, ask, and compare with what is stored."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from tracejury.collector.worker.loop_runner import LoopRunner
from tracejury.judges.llm.case import Deliberation, ServiceDescription, Stage
from tracejury.judges.llm.groups import Group
from tracejury.judges.llm.subjects import UNDECIDED, subjects
from tracejury.schemas.detector_opinions import DetectorOpinion
from tracejury.schemas.findings import FindingState
from tracejury.schemas.trajectory import AgentRun, Trace
from tracejury.schemas.verdicts import JudgedSubject, Outcome

from .judge_queue import JudgeTask
from .judge_request import JudgeRequest, by_group, group_request, judge_requests
from .judging_steps import JudgingSteps
from .metrics import LlmJudgingMetrics
from .outcome import StoredJudgements, Versions, closing, unjudged, window
from .stored import StoredCases
from .traces_to_judge import FoundTrace


class RunJudge:
    """LLM judges of agent runs. Any thread; `runner` is of the client's event loop."""

    def __init__(
        self,
        steps: JudgingSteps,
        runner: LoopRunner,
        store: StoredCases,
        describe: Callable[[Trace, AgentRun], ServiceDescription],
        versions: Versions,
        observer: LlmJudgingMetrics,
        clock: Callable[[], int],
    ) -> None:
        self._steps, self._run, self._store, self._describe = steps, runner.run, store, describe
        self._versions, self._observer, self._clock = versions, observer, clock
        self._preparing = threading.Lock()

    def ask(self, tasks: Sequence[JudgeTask]) -> Iterator[JudgedSubject]:
        """See `Judge`: the plans and the window of a live run, or closing passes of runs of one trace."""
        found = self._store.load(tasks[0].key, max(task.received_through for task in tasks))
        judged = {run.id for run in subjects(found[0])} if found else set()
        for task in tasks:
            if task.subject_id not in judged:
                is_run = found is not None and found[0].run(task.subject_id) is not None
                known = UNDECIDED if is_run else "it became part of another run"
                why = known if found else "its spans are gone"
                yield unjudged(task, Outcome.SUPERSEDED, why, self._versions, task.judged_at(self._clock()))
        if found is None:
            return
        left = [task for task in tasks if task.subject_id in judged]
        for together, group in by_group(found[0], left, self._steps.how.panel):
            results = self._together(found, together, group) if len(group) > 1 else None
            for task in together if results is None else ():
                yield from self._alone(found, task)
            yield from results or ()

    def _alone(self, found: FoundTrace, task: JudgeTask) -> Iterator[JudgedSubject]:
        stored, requests = self._requests(found, task)
        for request in requests:
            began = time.perf_counter()
            said = self._run(self._steps.judge(request, stored.findings, bypass_cache=task.bypass_cache))
            self._observer.judged(request.case.stage, said, time.perf_counter() - began)
            (opinions,) = self._check_detectors([(request, said)], bypass_cache=task.bypass_cache)
            yield replace(self._outcome(task, request, said, stored), opinions=opinions)

    def _together(self, found: FoundTrace, tasks: Sequence[JudgeTask], group: Group) -> list[JudgedSubject] | None:
        """The closing passes of runs of a group by one call; None where the group is too large for one."""
        prepared = [self._requests(found, task) for task in tasks]
        with self._preparing:
            request = group_request([requests[0] for _, requests in prepared], group, self._steps.how)
        if request is None:
            return None
        began = time.perf_counter()
        known = {f.id: f for stored, _ in prepared for f in stored.findings}
        bypass = any(task.bypass_cache for task in tasks)
        answers = self._run(self._steps.judge_together(request, tuple(known.values()), bypass_cache=bypass))
        spent = (time.perf_counter() - began) / len(answers)
        for shown, said in answers:
            self._observer.judged(shown.case.stage, said, spent)
        checked = self._check_detectors(answers, bypass_cache=bypass)
        return [
            replace(self._outcome(task, shown, said, stored), opinions=opinions)
            for task, (stored, _), (shown, said), opinions in zip(tasks, prepared, answers, checked, strict=True)
        ]

    def _requests(self, found: FoundTrace, task: JudgeTask) -> tuple[StoredJudgements, list[JudgeRequest]]:
        trace, detected = found
        run = trace.run(task.subject_id)
        assert run is not None  # noqa: S101  it was looked up before
        stored = StoredJudgements() if task.fresh else self._store.stored(trace, task.subject_id)
        open_findings = [f for f in stored.findings if f.state is FindingState.PROVISIONAL and f.judge in task.judges]
        description = self._describe(trace, run)
        with self._preparing:  # threads that compute slow down the receivers: one at a time
            return stored, judge_requests(task, trace, run, self._steps.how, detected, open_findings, description)

    def _check_detectors(
        self, judged: Sequence[tuple[JudgeRequest, Deliberation]], *, bypass_cache: bool
    ) -> list[tuple[DetectorOpinion, ...]]:
        """What the judges say of the detectors' errors, once they have answered: for each pass, of those in its run."""
        if not any(self._steps.checks(request, said) for request, said in judged):
            return [() for _ in judged]
        detected = self._store.detected(judged[0][0].case.trace)  # what another pass was told is in the store alone
        review = self._run(self._steps.check(judged, detected, bypass_cache=bypass_cache))
        self._observer.detectors_checked(review)
        home = {finding.id: finding.agent_run_id for finding in detected}
        first, *others = (request.case.run.id for request, _ in judged)
        by_run: dict[str, list[DetectorOpinion]] = {run_id: [] for run_id in (first, *others)}
        for opinion in review.opinions:
            by_run.get(home.get(opinion.finding_id, first), by_run[first]).append(opinion)
        return [tuple(opinions) for opinions in by_run.values()]

    def _outcome(
        self, task: JudgeTask, request: JudgeRequest, said: Deliberation, stored: StoredJudgements
    ) -> JudgedSubject:
        now = task.judged_at(self._clock())
        if request.case.stage is Stage.CLOSING:
            return closing(task, request.case, said, stored, self._versions, now)
        return window(task, request.case, request.turns, said, stored.findings, self._versions, now)
