"""The findings and errors that an evaluation scores, whether read from the API or taken from the judges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from tracejury.judges.agreement import Predicted
from tracejury.schemas.agent_errors import AgentError
from tracejury.schemas.findings import Finding
from tracejury.schemas.wire.errors import ErrorJson, LocatedFindingJson


@dataclass(frozen=True, slots=True)
class Predictions:
    """All findings, and the errors that they make, in any order.

    `failures`: detectors that failed, with the reason, where it is known; `refused`: spans and log records that the
    receiver refused.
    """

    findings: tuple[Predicted, ...]
    failures: Mapping[str, str] = field(default_factory=dict)
    refused: int = 0
    errors: tuple[Predicted, ...] = ()


def predicted(f: Finding, name: str = "") -> Predicted:
    """A finding of the domain model; `name`: of its trace, in the place of the trace's id."""
    return Predicted(
        trace_id=name or f.trace_id,
        span_id=f.span_id,
        category=f.category,
        judge=f.judge,
        confidence=f.confidence,
        dimensions=tuple(d.value for d in f.dimensions),
        severity=f.severity.value,
        elsewhere=tuple(i for i in (f.tool_span_id, f.seen_by_span_id, *f.also_at) if i),
        evidence=f.evidence,
        run_id=f.agent_run_id,
        id=f.id,
    )


def predicted_error(error: AgentError) -> Predicted:
    """An error of the domain model, at its primary span; its other spans are `elsewhere`."""
    lead = predicted(error.lead)
    return replace(lead, confidence=error.confidence(), elsewhere=tuple(error.spans)[1:], id=error.id)


def predicted_error_from_json(error: ErrorJson) -> Predicted:
    """An error of the API."""
    elsewhere = (error.shown_at, error.read_at, *error.repeated_at)
    return replace(_from_json(error, elsewhere), severity=error.severity, id=error.id)


def predicted_from_json(f: LocatedFindingJson) -> Predicted:
    """A finding of the API."""
    return _from_json(f, (f.tool_span_id, f.seen_by_span_id, *f.also_at))


def _from_json(found: ErrorJson | LocatedFindingJson, elsewhere: Iterable[str | None]) -> Predicted:
    return Predicted(
        trace_id=found.trace_id,
        span_id=found.span_id,
        category=found.category,
        judge=found.judge,
        confidence=found.confidence,
        dimensions=tuple(found.dimensions),
        elsewhere=tuple(filter(None, elsewhere)),
        evidence=found.evidence,
        run_id=found.agent_run_id or "",
    )
