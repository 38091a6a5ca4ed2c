"""Judging over the real store with a clock that only the test moves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracejury.collector.judging.detect.inbox import Inbox
from tracejury.collector.judging.detect.metrics import JudgingMetrics
from tracejury.collector.judging.detect.worker import DetectWorker
from tracejury.collector.judging.pipeline import Selector
from tracejury.collector.store.committer import Committed, Committer, WriterCounters
from tracejury.collector.store.dead_letter import DeadLetterFolder
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.telemetry import Telemetry
from tracejury.collector.worker.listeners import Listeners
from tracejury.collector.worker.spill_files import SpillFiles
from tracejury.judges.base import Context
from tracejury.judges.suite import Suite
from tracejury.processors.assemble import SECOND, AssemblerConfig, TraceKey
from tracejury.schemas.batch import Batch
from tracejury.schemas.findings import Draft, FindingState
from tracejury.schemas.spans import LogRecord, Span
from tracejury.schemas.taxonomy import Dimension, Severity
from tracejury.schemas.trajectory import Trace
from tracejury.schemas.verdicts import JudgedTrace

T0 = 1_700_000_000 * SECOND
TRACE = "a" * 32
KEY: TraceKey = ("", TRACE)


@dataclass(frozen=True, slots=True)
class Booms:
    """A detector: every span whose output says boom, unless the trace's root says all is well."""

    name: str = "booms"
    version: int = 1

    def detect(self, trace: Trace, ctx: Context) -> Iterable[Draft]:  # noqa: ARG002  the protocol's signature
        if any(s.output_text == "all is well" for s in trace.spans.values() if not s.raw.parent_span_id):
            return
        for span in trace.spans.values():
            if "boom" in span.output_text:
                yield Draft(
                    "",
                    span.span_id,
                    "Tool-related",
                    (Dimension.TOOL_CALLING,),
                    Severity.HIGH,
                    0.9,
                    "boom",
                    "it went boom",
                )


class Watch(JudgingMetrics):
    """Metrics that remember the judgings."""

    def __init__(self) -> None:
        super().__init__(Telemetry("test"))
        self.judgings: list[JudgedTrace] = []
        self.failed = 0

    def judged(self, judged: JudgedTrace, cost: int) -> None:
        super().judged(judged, cost)
        self.judgings.append(judged)

    def failed_trace(self) -> None:
        super().failed_trace()
        self.failed += 1


class Bench:
    """Judging with a clock that only `wait` moves."""

    def __init__(
        self,
        store: SharedStore,
        suite: Suite | None = None,
        reading: StoredJudging | None = None,
        config: AssemblerConfig | None = None,
        selectors: Sequence[Selector] = (),
        ours: Callable[[Span], bool] = lambda _span: False,
        files: SpillFiles | None = None,
        pressed: Callable[[], bool] = lambda: False,
        timer: Callable[[], int] = lambda: 0,
        dead_letters: Path | None = None,
        now: int = T0,
    ) -> None:
        self.now = now
        self.watch = Watch()
        self.inbox = Inbox(1 << 20)
        self.stored = StoredJudging(store)
        folder = DeadLetterFolder(dead_letters or store.folder or store.data_folder / "dead-letter", 1)
        self.committer = Committer(store, folder, WriterCounters(), clock=lambda: self.now)
        self.listeners = Listeners()
        self.judging = DetectWorker(
            reading or self.stored,
            suite or Suite([Booms()]),
            config or AssemblerConfig(),
            self.inbox,
            self.watch,
            selectors=selectors,
            ours=ours,
            clock=lambda: self.now,
            timer=timer,
            files=files,
            pressed=pressed,
            listeners=self.listeners,
        )

    def commit(self, *spans: Span, logs: Sequence[LogRecord] = (), tell: bool = True) -> None:
        """Store the spans; without `tell` judging does not hear of them (as after a crash)."""
        batch = Batch(spans, logs, 100)
        (outcome,) = self.committer.commit([batch])
        assert isinstance(outcome, Committed)
        if tell and outcome.stored:
            self.inbox.put(outcome.stored, outcome.received_at)

    def wait(self, seconds: float) -> int:
        """Let time pass and judge what is due; returns how many traces were judged."""
        self.judging.step()
        self.now += round(seconds * SECOND)
        return self.judging.step()

    def states(self) -> dict[str, FindingState]:
        """The stored findings' states by span id."""
        return {f.span_id: f.state for f in self.stored.load_findings([TRACE]).get(TRACE, ())}


def span(span_id: str, parent: str = "", output: str = "", trace_id: str = TRACE) -> Span:
    span_id = span_id.rjust(16, "0")
    return Span(
        trace_id, span_id, parent and parent.rjust(16, "0"), "work", 1, 2,
        {"openinference.span.kind": "CHAIN", "output.value": output}, service="shop",
    )  # fmt: skip
