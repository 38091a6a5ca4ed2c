"""LLM judging over the real store: detectors step by step with a clock of ours, scripted judges on their thread."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager

from judging_bench import T0, TRACE, Booms
from judging_bench import Bench as Detecting
from sizes import sized

from tracejury.collector.judging.llm.descriptions import no_description
from tracejury.collector.judging.llm.judge_queue import JudgeQueue
from tracejury.collector.judging.llm.judge_worker import Judges, JudgeWorker
from tracejury.collector.judging.llm.judging_steps import JudgingSteps
from tracejury.collector.judging.llm.metrics import LlmJudgingMetrics
from tracejury.collector.judging.llm.prompt_budget import PromptBudget
from tracejury.collector.judging.llm.run_judge import RunJudge
from tracejury.collector.judging.llm.run_selector import RunSelector
from tracejury.collector.judging.llm.stored import StoredCases
from tracejury.collector.judging.llm.verification import Verifier, Verify
from tracejury.collector.judging.llm.windows import Windows
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.telemetry import Telemetry
from tracejury.collector.worker.loop_runner import LoopRunner
from tracejury.judges.llm.case import Deliberation, Stage
from tracejury.judges.llm.client import Client, Prompt
from tracejury.judges.llm.criteria import load_set
from tracejury.judges.llm.members import llm_judges_of
from tracejury.judges.llm.schedule import WindowRules
from tracejury.judges.llm.scripted import ScriptedClient, answer
from tracejury.judges.llm.selection import Policy
from tracejury.judges.reviews.candidates import CandidatesReview
from tracejury.judges.suite import Suite
from tracejury.processors.assemble import SECOND, AssemblerConfig
from tracejury.schemas.findings import Finding
from tracejury.schemas.llm_rows import LedgerRow
from tracejury.schemas.spans import Span
from tracejury.schemas.verdicts import JudgedSubject, SubjectKind, Verdict

PATIENCE = sized(30, 600)
NAMES = ("plan-quality", "goal-fulfilment", "logical-consistency", "tool-calling")


def agent(
    number: int = 0, trace_id: str = TRACE, *, ended: bool = True, turns: Sequence[int] = (), padding: int = 0
) -> list[Span]:
    """Spans of one manager "clerk": its own (where `ended`), and an LLM call for each of `turns`.

    `padding`: characters that each call writes besides.
    """
    top = f"{number}a".rjust(16, "0")
    calls = [_call(top, number, turn, trace_id, padding) for turn in turns]
    whole = Span(
        trace_id, top, "", "clerk.run", 1, 1000 + number,  # two spans with the same times would be copies
        {"openinference.span.kind": "AGENT", "input.value": "Count the hens."}, service="farm",
    )  # fmt: skip
    return [*calls, whole] if ended else calls


def _call(top: str, number: int, turn: int, trace_id: str, padding: int) -> Span:
    said = f"I count {turn + 1} hens in yard {turn}." + f" {turn} and a hen." * (padding // 14)
    said_before = {
        f"llm.input_messages.{i + 1}.message.{key}": value
        for i in range(turn)
        for key, value in (("role", "assistant"), ("content", f"I count {i + 1} hens in yard {i}."))
    }
    attributes = {
        "openinference.span.kind": "LLM",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "Count the hens.",
        **said_before,
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": said,
    }
    span_id = f"{number}b{turn:x}".rjust(16, "0")
    return Span(trace_id, span_id, top, "chat", 2 + turn * 2, 3 + turn * 2, attributes, service="farm")


class Watch(LlmJudgingMetrics):
    """Counts, and remembers what it is told."""

    def __init__(self) -> None:
        super().__init__(Telemetry("test"))
        self.stages: list[Stage] = []
        self.subjects: list[JudgedSubject] = []
        self.reviews: list[CandidatesReview] = []
        self.retries = 0

    def judged(self, stage: Stage, said: Deliberation, seconds: float) -> None:
        super().judged(stage, said, seconds)
        self.stages.append(stage)

    def saved(self, subjects: Sequence[JudgedSubject], now: int) -> None:
        super().saved(subjects, now)
        self.subjects += subjects

    def detectors_checked(self, review: CandidatesReview) -> None:
        super().detectors_checked(review)
        self.reviews.append(review)

    def put_back(self, reason: str) -> None:
        super().put_back(reason)
        self.retries += 1


class WorkerBench:
    """LLM judges on their threads beside detectors of which only the test moves the clock."""

    worker: JudgeWorker
    detecting: Detecting

    def clock(self) -> int:
        """The detectors'."""
        return self.detecting.now if hasattr(self, "detecting") else T0

    def later(self, seconds: int) -> None:
        """The clock goes on; the judges look at it."""
        self.detecting.now += seconds * SECOND
        self.worker.worker.wake_event.wake()

    def hear(self, *spans: Span, seconds: float = 6) -> None:
        """Spans arrive, that much time passes, and what is due is judged."""
        self.detecting.commit(*spans)
        self.detecting.wait(seconds)
        self.settle()

    def settle(self) -> None:
        """Wait until the judges have nothing left to do."""
        until(self.at_rest)

    def at_rest(self) -> bool:
        """Whether the judges have nothing left to do."""
        return self.worker.idle

    @contextmanager
    def running(self) -> Iterator[None]:
        """With the judges' threads."""
        self.worker.start()
        try:
            yield
        finally:
            self.worker.stop(PATIENCE)


class LlmBench(WorkerBench):
    """One collector's judging without receivers. `detecting` moves the clock; judges answer by `script`."""

    def __init__(
        self,
        store: SharedStore,
        script: Callable[[Prompt], str] = answer,
        *,
        policy: Policy | None = None,
        model: str = "scripted",
        client: Client | None = None,
        queue: JudgeQueue | None = None,
        streaming: bool = True,
        group: bool = True,
        verify: Verify = "off",
        verifier: Client | None = None,
        patience: float | None = None,
        suite: Suite | None = None,
    ) -> None:
        self.client = client or ScriptedClient(script, model)
        self.panel = llm_judges_of(load_set("production"), model, NAMES, group=group)
        self.queue = queue or JudgeQueue()
        self.watch = Watch()
        self.stored = StoredLlmJudging(store)
        self.cases = StoredCases(store, AssemblerConfig(), lambda _span: False, self.clock)
        versions = {j.name: self.panel.version(j.name) for j in self.panel.judges}
        asked = policy or Policy()
        windows = Windows(self.panel, asked, WindowRules(turns=5), self.queue, self.cases.recent) if streaming else None
        self.selector = RunSelector(self.panel, asked, self.queue, self.cases.recent, windows, self.clock)
        self.detecting = Detecting(store, suite or Suite([Booms()]), selectors=[self.selector])
        how = PromptBudget(self.panel, 30_000, lambda text: len(text) // 4)

        @asynccontextmanager
        async def open_judges(runner: LoopRunner) -> AsyncIterator[Judges]:
            steps = JudgingSteps(self.client, how, Verifier(verifier or self.client, verify, patience=patience))
            judge = RunJudge(steps, runner, self.cases, no_description, versions, self.watch, self.clock)
            yield {SubjectKind.AGENT_RUN: judge}

        self.worker = JudgeWorker(self.cases, self.queue, windows, open_judges, versions, self.watch, clock=self.clock)

    def findings(self, trace_id: str = TRACE) -> list[Finding]:
        """What LLM judges found, in any state."""
        return self.stored.run_findings([trace_id]).get(trace_id, [])

    def words(self, trace_id: str = TRACE) -> dict[tuple[str, str], LedgerRow]:
        """Of LLM judges, by subject id and judge."""
        rows = self.stored.outcomes([trace_id]).get(trace_id, {})
        return {(key[1], key[2]): row for key, row in rows.items() if key[2] in NAMES}

    def verdicts(self) -> dict[tuple[str, str], Verdict]:
        """Those told of, the latest of each subject and judge."""
        said = (v for s in self.watch.subjects for j in s.judgements for v in j.verdicts)
        return {(v.subject.id, v.judge): v for v in said}


def until(condition: Callable[[], bool]) -> None:
    """Wait for another thread; fails when it takes too long."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it takes too long"
        time.sleep(0.005)
