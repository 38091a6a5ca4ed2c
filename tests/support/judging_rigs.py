"""The workers of judging, as `workers.WORKERS`: detecting, and LLM judging with its writer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager

from judging_bench import Booms, span
from judging_bench import Watch as DetectingWatch
from llm_bench import Watch as LlmWatch
from workers import Faults, Rig, quick

from tracejury.collector.judging.detect.inbox import Inbox
from tracejury.collector.judging.detect.worker import DetectWorker
from tracejury.collector.judging.llm.judge_queue import JudgeQueue, JudgeTask
from tracejury.collector.judging.llm.judge_worker import Judges, JudgeWorker
from tracejury.collector.judging.llm.outcome import unjudged
from tracejury.collector.judging.llm.stored import StoredCases
from tracejury.collector.store.joins import StoredJoins
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.unjudged import OthersTime
from tracejury.collector.worker.loop_runner import LoopRunner
from tracejury.judges.llm.case import Stage
from tracejury.judges.suite import Suite
from tracejury.processors.assemble import AssemblerConfig, TraceKey
from tracejury.schemas.batch import Batch
from tracejury.schemas.findings import Finding
from tracejury.schemas.llm_rows import LedgerRow
from tracejury.schemas.spans import LogRecord, Span
from tracejury.schemas.verdicts import JudgedSubject, JudgedTrace, LedgerEntries, Outcome, SubjectKind

FAST = 100
"""How much faster time passes for detecting: it sweeps every ten seconds where something was forgotten."""
BOUND = 20
JUDGE = "goal-fulfilment"


class NoJoins(StoredJoins):
    """None of the traces leads to another."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults

    def any(self) -> bool:
        self._faults.meet("any_joins")
        return False

    def lacking(self, limit: int) -> list[tuple[str, str]]:  # noqa: ARG002  the form of all joins
        self._faults.meet("lacking_parents")
        return []

    def holders(self, span_ids: Collection[str], since: int, limit: int) -> dict[str, set[str]]:  # noqa: ARG002
        return {}

    def keep(self, keys: Mapping[str, Iterable[str]], received_at: int) -> None:
        """There is nothing to keep."""


class MemoryTraces(StoredJudging):
    """One span a trace, all of them to be judged once."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults
        self.joins = NoJoins(faults)
        self.spans: dict[str, Span] = {}
        self.saved: list[str] = []

    def of(self, tenant: str) -> StoredJudging:
        assert tenant == ""
        return self

    def known_traces(self) -> None:
        """Whoever knows none asks for the rows of each."""

    def known_rows(self, trace_ids: Sequence[str]) -> dict[str, int]:
        self._faults.meet("known_rows", trace_ids)
        return {i: 1 for i in trace_ids if i in self.spans}

    def load_spans(self, trace_ids: Sequence[str]) -> dict[str, tuple[list[Span], list[LogRecord]]]:
        self._faults.meet("load_spans", trace_ids)
        return {i: ([self.spans[i]], []) for i in trace_ids if i in self.spans}

    def load_findings(self, trace_ids: Sequence[str]) -> dict[str, list[Finding]]:
        self._faults.meet("load_findings", trace_ids)
        return {}

    def load_ledger(self, _trace_ids: Sequence[str]) -> dict[str, LedgerEntries]:
        return {}

    def last_arrivals(self, _trace_ids: Sequence[str], _now: int) -> dict[str, int]:
        return {}

    def unjudged(self, version: str, limit: int, others: OthersTime | None = None) -> list[TraceKey]:  # noqa: ARG002  the base's signature
        self._faults.meet("unjudged")
        return [("", i) for i in self.spans if i not in self.saved]

    def stays(self, _judged: JudgedTrace) -> bool:
        return True

    is_shared = False  # of one process

    def read_judgements(self, _trace_ids: Sequence[str]) -> None: ...

    def judged_at(self, _keys: object, now: int) -> int:
        return now

    def judged_meanwhile(self, _saved: object) -> list[TraceKey]:
        return []

    def reviewed(self, stored: Mapping[str, Finding]) -> Mapping[str, Finding]:
        return stored

    def save(self, judged: Sequence[JudgedTrace]) -> None:
        self._faults.meet("save", [one.trace.trace_id for one in judged])
        self.saved += [one.trace.trace_id for one in judged]


def detecting() -> Rig:
    """The judging thread, over detectors."""
    faults = Faults()
    began = time.time_ns()
    store = MemoryTraces(faults)
    inbox = Inbox(1 << 20)
    worker = DetectWorker(
        store, Suite([Booms()]), AssemblerConfig(max_traces=BOUND), inbox, DetectingWatch(),
        clock=lambda: began + (time.time_ns() - began) * FAST,
    )  # fmt: skip
    quick(worker.worker)

    def feed(names: Sequence[str]) -> None:
        for trace_id in names:
            store.spans[trace_id] = span("1", output="boom", trace_id=trace_id)
            inbox.put(Batch([store.spans[trace_id]], [], 100), began)

    return Rig(
        start=worker.start,
        stop=lambda deadline: asyncio.to_thread(worker.stop, deadline),
        is_alive=lambda: worker.worker.is_alive,
        faults=faults,
        calls=("unjudged", "known_rows", "load_spans", "load_findings", "any_joins", "save"),
        poisons=("load_spans", "save"),
        feed=feed,
        saved=lambda: store.saved,
        held=lambda: len(worker.assembler),
        bound=BOUND,
    )


class MemoryLedger(StoredCases):
    """Runs that are pending until something is saved of them; a trace has one."""

    is_shared = False

    def __init__(self, faults: Faults) -> None:
        self._faults = faults
        self.runs: list[str] = []
        self.saved: list[str] = []

    def pending(self, limit: int) -> Sequence[LedgerRow]:
        self._faults.meet("pending")
        left = (run_id for run_id in self.runs if run_id not in self.saved)
        kind = SubjectKind.AGENT_RUN
        rows = (
            LedgerRow("", run_id, kind, run_id, JUDGE, "v", "h", Outcome.PENDING, "", "", 1.0, 0, 0, 1, 1)
            for run_id in left
        )
        return [row for row, _ in zip(rows, range(limit), strict=False)]

    def stays(self, subject: JudgedSubject) -> bool:  # noqa: ARG002  nothing is deleted
        return True

    def save(self, subjects: Sequence[JudgedSubject]) -> None:
        ids = [subject.judgements[0].subject.trace_id for subject in subjects]
        self._faults.meet("save", ids)
        self.saved += ids


class NoModel:
    """Judges nothing, at once."""

    def ask(self, tasks: Sequence[JudgeTask]) -> Iterator[JudgedSubject]:
        """One subject a task."""
        for task in tasks:
            yield unjudged(task, Outcome.NOT_APPLICABLE, "nothing to judge", {JUDGE: "v"}, 2)


def llm_judging() -> Rig:
    """LLM judging on several threads."""
    faults = Faults()
    store = MemoryLedger(faults)
    queue = JudgeQueue(max_entries=BOUND)

    @asynccontextmanager
    async def open_judges(_runner: LoopRunner) -> AsyncIterator[Judges]:
        yield {SubjectKind.AGENT_RUN: NoModel()}

    worker = JudgeWorker(store, queue, None, open_judges, {JUDGE: "v"}, LlmWatch(), concurrency=4)
    quick(*worker.workers)

    def feed(names: Sequence[str]) -> None:
        store.runs += names
        for run_id in names:
            queue.add(JudgeTask(("", run_id), run_id, Stage.CLOSING, (JUDGE,), "h", 1.0))

    return Rig(
        start=worker.start,
        stop=lambda deadline: asyncio.to_thread(worker.stop, deadline),
        is_alive=lambda: worker.is_alive,
        faults=faults,
        calls=("pending", "save"),
        poisons=("save",),
        feed=feed,
        saved=lambda: store.saved,
        held=lambda: len(queue) + queue.in_flight,
        bound=BOUND + 4,
    )


JUDGING: dict[str, Callable[[], Rig]] = {"detecting": detecting, "llm_judging": llm_judging}
