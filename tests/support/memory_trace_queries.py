"""What the pages of a trace ask of the store, over rebuilt traces in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tracejury.collector.queries.trace.stored_part import with_turns_of
from tracejury.collector.queries.trace.trace_index import TraceIndex
from tracejury.collector.queries.trace.trace_queries import TraceAssessment
from tracejury.judges.grouping import standing_errors
from tracejury.processors.trace_outline import RunOutline, TraceOutline, outline_of
from tracejury.schemas.findings import Finding
from tracejury.schemas.llm_rows import LedgerRow
from tracejury.schemas.queries.reader import Confidence
from tracejury.schemas.spans import LogRecord, Span
from tracejury.schemas.trajectory import AgentRun, Trace
from tracejury.schemas.verdicts import Verdict


@dataclass
class MemoryTraceQueries:
    """Trace queries over traces and findings in memory."""

    traces: dict[str, Trace] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    ledger: list[LedgerRow] = field(default_factory=list)
    told: list[Trace] = field(default_factory=list)

    def trace_index(self, trace_id: str) -> TraceIndex | None:
        found = self.trace(trace_id)
        return TraceIndex(outline_of(found)) if found else None

    def trace(self, trace_id: str) -> Trace | None:
        return self.traces.get(trace_id)

    def count_spans(self, trace_id: str) -> int:
        found = self.trace(trace_id)
        return len(found.spans) if found else 0

    def part(self, trace_index: TraceIndex, key: str) -> Trace | None:  # noqa: ARG002  the protocol's signature
        return self.trace(trace_index.outline.trace_id)

    def runs(self, outline: TraceOutline, wanted: Sequence[RunOutline]) -> Sequence[AgentRun]:
        found = self.trace(outline.trace_id)
        runs = {run.id: run for run in found.runs} if found else {}
        return [with_turns_of(runs[run.id], run) for run in wanted if run.id in runs]

    def loads_at_once(self, outline: TraceOutline) -> bool:
        return outline.trace_id in self.traces

    def assessment(self, outline: TraceOutline, confidence: Confidence) -> TraceAssessment:
        least = confidence.least(outline.conventions)
        found = [f for f in self.findings if f.trace_id in outline.trace_ids]
        verdicts = [v for v in self.verdicts if v.subject.trace_id in outline.trace_ids]
        return TraceAssessment.of(standing_errors(found, outline.runs), found, least, verdicts)

    def ledger_rows(self, outline: TraceOutline) -> Sequence[LedgerRow]:
        return [word for word in self.ledger if word.trace_id in outline.trace_ids]

    def raw_span(self, trace_id: str, span_id: str) -> tuple[Span, Sequence[LogRecord]] | None:
        found = self.trace(trace_id)
        span = found.spans.get(span_id) if found else None
        return (span.raw, ()) if span else None

    def trace_ids_of_span(self, span_id: str) -> Sequence[str]:
        return [i for i, trace in self.traces.items() if span_id in trace.spans]

    def cache_judged(self, trace: Trace) -> None:
        self.told.append(trace)

    def clear_cache(self) -> None:
        """Nothing is kept besides."""
