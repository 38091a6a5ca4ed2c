"""The decisive error as a `Judge` of traces: wait for the judges of the runs, ask, and compare with what is stored."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Final

from tracejury.collector.judging.llm.judge_queue import JudgeTask
from tracejury.collector.judging.llm.metrics import LlmJudgingMetrics
from tracejury.collector.judging.llm.outcome import Versions, checked, unjudged
from tracejury.collector.judging.llm.prompt_budget import PromptBudget
from tracejury.collector.judging.llm.stored import StoredCases
from tracejury.collector.judging.pipeline import NotYetError
from tracejury.collector.worker.loop_runner import LoopRunner
from tracejury.judges.llm.case import Deliberation
from tracejury.judges.llm.client import Client
from tracejury.judges.reviews.decisive import DecisiveCase, decisive_case
from tracejury.judges.reviews.wrong_outcome import wrong_outcome
from tracejury.processors.transcript.trace_record import trace_record
from tracejury.schemas.decisive import DECISIVE
from tracejury.schemas.errors import PromptTooLongError
from tracejury.schemas.profiles import threshold
from tracejury.schemas.verdicts import JudgedSubject, Outcome, Subject, SubjectKind, Verdict

from .decisive_answer import decisive_answer

NOT_WRONG: Final = "the outcome is not known to be wrong"
LEFT: Final = "runs of it were left over budget"


class DecisiveJudge:
    """Judges traces. Any thread; `runner` is of the client's event loop.

    `versions`: of the judges; `completion`: names of the checks that tell whether a task was completed.
    """

    def __init__(
        self,
        store: StoredCases,
        client: Client,
        runner: LoopRunner,
        how: PromptBudget,
        versions: Versions,
        observer: LlmJudgingMetrics,
        completion: Collection[str] = (),
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._store, self._client, self._run, self._how = store, client, runner.run, how
        self._versions, self._observer, self._completion, self._clock = versions, observer, completion, clock

    def ask(self, tasks: Sequence[JudgeTask]) -> Iterator[JudgedSubject]:
        """See `Judge`: a trace, all of whose runs and exchanges are judged.

        Raises:
            NotYetError: some are still to be judged.
        """
        (task,) = tasks
        before = [row for row in self._store.entries(task.key) if row.kind is not SubjectKind.TRACE]
        if any(row.outcome is Outcome.PENDING for row in before):
            raise NotYetError("its runs are judged first")
        if any(row.outcome is Outcome.OVER_BUDGET and row.kind is SubjectKind.AGENT_RUN for row in before):
            yield self._not_judged(task, Outcome.OVER_BUDGET, LEFT)
            return
        loaded = self._store.load(task.key, task.received_through)
        if loaded is None:
            yield self._not_judged(task, Outcome.SUPERSEDED, "its spans are gone")
            return
        trace = loaded[0]
        found = self._store.findings(trace)
        subject = Subject(SubjectKind.TRACE, task.subject_id, trace.trace_id, trace.tenant)
        outcome = wrong_outcome(trace, self._store.verdicts(trace), self._completion)
        if outcome:
            case = decisive_case(trace, trace_record(trace), found, outcome, threshold("recall"))
            said = self._said(task, case, subject)
        else:
            none = Verdict(DECISIVE, self._versions[DECISIVE], subject, None, not_applicable=True, reasons=NOT_WRONG)
            said = Deliberation((replace(none, sampling_probability=task.probability),))
        ours = [finding for finding in found if finding.judge == DECISIVE]
        others = [finding for finding in found if finding.judge != DECISIVE]
        now = task.judged_at(self._clock())
        judged = checked(task, subject, trace.state, said, ours, others, self._versions, now)
        yield replace(judged, shown=tuple((i, trace.received_through) for i in trace.trace_ids))

    def _said(self, task: JudgeTask, case: DecisiveCase, subject: Subject) -> Deliberation:
        began = time.perf_counter()
        answer = decisive_answer(
            case, subject, self._versions[DECISIVE], self._how, self._client,
            probability=task.probability, bypass_cache=task.bypass_cache,
        )  # fmt: skip
        try:
            said = self._run(answer)
        except PromptTooLongError as error:
            return Deliberation(failures={DECISIVE: str(error)})
        self._observer.judged(task.stage, said, time.perf_counter() - began)
        return said

    def _not_judged(self, task: JudgeTask, outcome: Outcome, why: str) -> JudgedSubject:
        return unjudged(task, outcome, why, self._versions, task.judged_at(self._clock()))
