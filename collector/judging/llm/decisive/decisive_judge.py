"""The decisive error as a `Judge` of traces: wait for the judges of the runs, ask, and compare with what is stored."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Final, Protocol

from tracejury.collector.judging.llm.judge_queue import JudgeTask
from tracejury.collector.judging.llm.judge_request import PromptBudget
from tracejury.collector.judging.llm.outcome import Versions, checked, unjudged
from tracejury.collector.judging.llm.run_judge import Call
from tracejury.collector.judging.llm.watch import LlmJudgingObserver
from tracejury.collector.judging.pipeline import NotYetError
from tracejury.judges.llm.case import Deliberation
from tracejury.judges.llm.client import Client
from tracejury.judges.reviews.decisive import DecisiveCase, decisive_case
from tracejury.judges.reviews.wrong_outcome import wrong_outcome
from tracejury.processors.assemble import TraceKey
from tracejury.processors.transcript.trace_record import trace_record
from tracejury.schemas.decisive import DECISIVE
from tracejury.schemas.errors import PromptTooLongError
from tracejury.schemas.findings import Finding
from tracejury.schemas.llm_rows import LedgerRow
from tracejury.schemas.profiles import threshold
from tracejury.schemas.trajectory import Trace
from tracejury.schemas.verdicts import JudgedSubject, Outcome, Subject, SubjectKind, Verdict

from .decisive_answer import decisive_answer

NOT_WRONG: Final = "the outcome is not known to be wrong"
LEFT: Final = "runs of it were left over budget"


class JudgedTraces(Protocol):
    """What is stored of traces. It blocks; methods raise RetryableError, StoreError."""

    def load(self, key: TraceKey) -> tuple[Trace, tuple[Finding, ...]] | None:
        """A trace and its detectors' findings, None where it is gone."""

    def entries(self, key: TraceKey) -> Sequence[LedgerRow]:
        """The latest entry of each judge on each subject of a trace."""

    def verdicts(self, trace: Trace) -> Sequence[Verdict]:
        """The latest verdict of each judge on each subject of a trace."""

    def findings(self, trace: Trace) -> Sequence[Finding]:
        """All findings in a trace, of any state."""


class DecisiveJudge:
    """Judges traces. Any thread; `call` runs a coroutine in the client's loop.

    `versions`: of the judges; `completion`: names of the checks that tell whether a task was completed.
    """

    def __init__(
        self,
        store: JudgedTraces,
        client: Client,
        call: Call,
        how: PromptBudget,
        versions: Versions,
        observer: LlmJudgingObserver,
        completion: Collection[str] = (),
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._store, self._client, self._call, self._how = store, client, call, how
        self._versions, self._observer, self._completion, self._clock = versions, observer, completion, clock

    def ask(self, task: JudgeTask) -> Iterator[JudgedSubject]:
        """See `Judge`: a trace, all of whose runs and exchanges are judged.

        Raises:
            NotYetError: some are still to be judged.
        """
        before = [row for row in self._store.entries(task.key) if row.kind is not SubjectKind.TRACE]
        if any(row.outcome is Outcome.PENDING for row in before):
            raise NotYetError("its runs are judged first")
        if any(row.outcome is Outcome.OVER_BUDGET and row.kind is SubjectKind.AGENT_RUN for row in before):
            yield self._not_judged(task, Outcome.OVER_BUDGET, LEFT)
            return
        loaded = self._store.load(task.key)
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
            said = self._call(answer)
        except PromptTooLongError as error:
            return Deliberation(failures={DECISIVE: str(error)})
        self._observer.judged(task.stage, said, time.perf_counter() - began)
        return said

    def _not_judged(self, task: JudgeTask, outcome: Outcome, why: str) -> JudgedSubject:
        return unjudged(task, outcome, why, self._versions, task.judged_at(self._clock()))
