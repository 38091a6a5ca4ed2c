"""The scored part of an error that was told: where it was made, where else it shows, who found it, how sure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...schemas.findings import Finding
from ...schemas.taxonomy import Severity
from ...schemas.trajectory import Trace


@dataclass(frozen=True, slots=True)
class LocatedClaim:
    """One error as it is told. All spans are of the trace `trace_id`.

    `span` is the primary one; `spans` are all that it names, the primary one included. `run` is the id of the agent run
    that the primary span belongs to, `agent` that run's name ("" outside any run). `start`: of the primary span, in
    unix nanos.
    """

    trace_id: str
    run: str
    agent: str
    span: str
    spans: frozenset[str]
    judge: str
    category: str
    severity: Severity
    confidence: float
    start: int = 0


def claims_of(trace: Trace, findings: Iterable[Finding]) -> tuple[LocatedClaim, ...]:
    """What is told of a trace: for now, one claim for each finding."""
    agents = {run.id: run.name for run in trace.runs}
    return tuple(
        LocatedClaim(
            trace_id=f.trace_id,
            run=f.agent_run_id,
            agent=agents.get(f.agent_run_id, ""),
            span=f.span_id,
            spans=frozenset(s for s in (f.span_id, f.tool_span_id, f.seen_by_span_id, *f.also_at) if s),
            judge=f.judge,
            category=f.category,
            severity=f.severity,
            confidence=f.confidence,
            start=trace.spans[f.span_id].raw.start,
        )
        for f in findings
    )
