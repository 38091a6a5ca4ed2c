"""What the pages of a trace ask of the store, over rebuilt traces in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tracejury.collector.queries.trace.trace_index import Places
from tracejury.collector.queries.trace.trace_queries import Said
from tracejury.processors.trace_outline import Outline, outline_of
from tracejury.schemas.findings import Finding
from tracejury.schemas.llm_rows import LedgerRow
from tracejury.schemas.queries.reader import Confidence
from tracejury.schemas.spans import LogRecord, Span
from tracejury.schemas.trajectory import Trace
from tracejury.schemas.verdicts import Verdict


@dataclass
class MemoryLooks:
    """Looks over these traces and what is said of them."""

    traces: dict[str, Trace] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    ledger: list[LedgerRow] = field(default_factory=list)
    told: list[Trace] = field(default_factory=list)

    def places(self, trace_id: str, tenant: str = "") -> Places | None:
        found = self.trace(trace_id, tenant)
        return Places(outline_of(found)) if found else None

    def trace(self, trace_id: str, tenant: str = "") -> Trace | None:
        found = self.traces.get(trace_id)
        return found if found and found.tenant == tenant else None

    def at_hand(self, trace_id: str, outline: Outline) -> bool:
        return trace_id in outline.trace_ids

    def said(self, outline: Outline, confidence: Confidence) -> Said:
        least = confidence.least(outline.conventions)
        found = [f for f in self.findings if f.trace_id in outline.trace_ids and f.confidence >= least]
        return Said(found, [v for v in self.verdicts if v.subject.trace_id in outline.trace_ids])

    def words(self, outline: Outline) -> Sequence[LedgerRow]:
        return [word for word in self.ledger if word.trace_id in outline.trace_ids]

    def raw(self, trace_id: str, span_id: str, tenant: str = "") -> tuple[Span, Sequence[LogRecord]] | None:
        found = self.trace(trace_id, tenant)
        span = found.spans.get(span_id) if found else None
        return (span.raw, ()) if span else None

    def traces_of(self, span_id: str, tenant: str = "") -> Sequence[str]:
        return [i for i, trace in self.traces.items() if span_id in trace.spans and trace.tenant == tenant]

    def judged(self, trace: Trace) -> None:
        self.told.append(trace)

    def forget(self) -> None:
        """Nothing is kept besides."""
