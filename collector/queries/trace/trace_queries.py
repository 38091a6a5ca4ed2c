"""What the pages of a trace ask of the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ....processors.trace_outline import Outline
from ....schemas.findings import Finding
from ....schemas.llm_rows import LedgerRow
from ....schemas.queries.reader import Confidence
from ....schemas.spans import LogRecord, Span
from ....schemas.trajectory import Trace
from ....schemas.verdicts import Verdict
from .trace_index import Places


@dataclass(frozen=True, slots=True)
class Said:
    """What judges say of a trace. `findings`: those that hold; `cost`: of the agents in US dollars, None: not known."""

    findings: Sequence[Finding] = ()
    verdicts: Sequence[Verdict] = ()
    cost: float | None = None


class Looks(Protocol):
    """Answers from the store. Every method may block: call it on a thread.

    Each raises RetryableError, StoreError where the store fails.
    """

    def places(self, trace_id: str, tenant: str = "") -> Places | None:
        """The trace in outline with all that has arrived; None where there is none."""

    def trace(self, trace_id: str, tenant: str = "") -> Trace | None:
        """The trace rebuilt; None where there is none."""

    def at_hand(self, trace_id: str, outline: Outline) -> bool:
        """Whether `trace` would answer at once what `outline` is of."""

    def said(self, outline: Outline, confidence: Confidence) -> Said:
        """What judges say of it at that confidence."""

    def words(self, outline: Outline) -> Sequence[LedgerRow]:
        """What LLM judges last said of its runs, or are to say."""

    def raw(self, trace_id: str, span_id: str, tenant: str = "") -> tuple[Span, Sequence[LogRecord]] | None:
        """A span as it was sent, with the log records that belong to it."""

    def traces_of(self, span_id: str, tenant: str = "") -> Sequence[str]:
        """Ids of the traces that have a span of that id."""

    def judged(self, trace: Trace) -> None:
        """Told of every judging: this is how the trace stands now. From the judging thread; never blocks."""

    def forget(self) -> None:
        """Let go of what is kept in memory."""
