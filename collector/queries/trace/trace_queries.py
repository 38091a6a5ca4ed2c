"""Queries of the pages of a trace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from tracejury.processors.trace_outline import RunOutline, TraceOutline
from tracejury.schemas.agent_errors import AgentError
from tracejury.schemas.findings import Finding
from tracejury.schemas.llm_rows import LedgerRow
from tracejury.schemas.queries.reader import Confidence
from tracejury.schemas.spans import LogRecord, Span
from tracejury.schemas.trajectory import AgentRun, Trace
from tracejury.schemas.verdicts import Verdict

from .trace_index import TraceIndex


@dataclass(frozen=True, slots=True)
class TraceAssessment:
    """Findings that hold, the errors that they make and the verdicts of a trace.

    `least`: the confidence asked for; `findings` are as sure, and an error is where any of its findings is. `cost`: of
    the agents in US dollars, None: not known.
    """

    findings: Sequence[Finding] = ()
    errors: Sequence[AgentError] = ()
    least: float = 0.0
    verdicts: Sequence[Verdict] = ()
    cost: float | None = None

    @classmethod
    def of(
        cls,
        errors: Iterable[AgentError],
        standing: Sequence[Finding],
        least: float,
        verdicts: Sequence[Verdict] = (),
        cost: float | None = None,
    ) -> Self:
        """With what is sure enough of all errors and findings that hold."""
        return cls(
            [finding for finding in standing if finding.confidence >= least],
            [error for error in errors if error.confidence() >= least],
            least,
            verdicts,
            cost,
        )


class TraceQueries(Protocol):
    """Answers from the store. Every method may block: call it on a thread.

    Each raises RetryableError, StoreError where the store fails.
    """

    def trace_index(self, trace_id: str) -> TraceIndex | None:
        """The trace in outline with all that has arrived; None where there is none."""

    def trace(self, trace_id: str) -> Trace | None:
        """The trace rebuilt; None where there is none."""

    def count_spans(self, trace_id: str) -> int:
        """How many spans of it, and of the traces that it may be one with, are stored."""

    def part(self, trace_index: TraceIndex, key: str) -> Trace | None:
        """The trace with at least what details of that node show; None where there is no such trace any more."""

    def runs(self, outline: TraceOutline, wanted: Sequence[RunOutline]) -> Sequence[AgentRun]:
        """These runs of the outline in full, each with the turns given here; those that are gone are missing."""

    def loads_at_once(self, outline: TraceOutline) -> bool:
        """Whether `trace` would answer at once what `outline` is of."""

    def assessment(self, outline: TraceOutline, confidence: Confidence) -> TraceAssessment:
        """The findings, errors and verdicts at that confidence."""

    def ledger_rows(self, outline: TraceOutline) -> Sequence[LedgerRow]:
        """The ledger entries of LLM judges on its runs."""

    def raw_span(self, trace_id: str, span_id: str) -> tuple[Span, Sequence[LogRecord]] | None:
        """A span as it was sent, with the log records that belong to it."""

    def trace_ids_of_span(self, span_id: str) -> Sequence[str]:
        """Ids of the traces that have a span of that id."""

    def cache_judged(self, trace: Trace) -> None:
        """Told of every judging: this is how the trace stands now. From the judging thread; never blocks."""

    def clear_cache(self) -> None:
        """Let go of what is kept in memory."""
