"""The scored part of an error that was told: where it was made, where else it shows, who found it, how sure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tracejury.judges.grouping import standing_errors
from tracejury.schemas.findings import Finding
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.trajectory import Trace


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


def error_claims(trace: Trace, findings: Sequence[Finding], least: float) -> tuple[LocatedClaim, ...]:
    """The errors of a trace as readers see them who ask for a confidence of at least `least`."""
    return tuple(
        _claim(trace, error.lead, frozenset(error.spans), error.severity(least), error.confidence())
        for error in standing_errors(findings, trace.runs)
        if error.confidence() >= least
    )


def _claim(trace: Trace, lead: Finding, spans: frozenset[str], severity: Severity, confidence: float) -> LocatedClaim:
    run = trace.run(lead.agent_run_id)
    return LocatedClaim(
        trace_id=lead.trace_id,
        run=lead.agent_run_id,
        agent=run.name if run else "",
        span=lead.span_id,
        spans=spans,
        judge=lead.judge,
        category=lead.category,
        severity=severity,
        confidence=confidence,
        start=trace.spans[lead.span_id].raw.start,
    )
