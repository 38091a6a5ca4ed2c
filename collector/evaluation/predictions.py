"""The findings that an evaluation scores, whether read from the API or taken from the judges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...judges.agreement import Predicted
from ...schemas.findings import Finding
from ...schemas.wire.errors import LocatedFindingJson


@dataclass(frozen=True, slots=True)
class Predictions:
    """All findings, in any order.

    `failures`: detectors that failed, with the reason, where it is known; `refused`: spans and log records that the
    receiver refused.
    """

    findings: tuple[Predicted, ...]
    failures: Mapping[str, str] = field(default_factory=dict)
    refused: int = 0


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


def predicted_from_json(f: LocatedFindingJson) -> Predicted:
    """A finding of the API."""
    return Predicted(
        trace_id=f.trace_id,
        span_id=f.span_id,
        category=f.category,
        judge=f.judge,
        confidence=f.confidence,
        dimensions=tuple(f.dimensions),
        elsewhere=tuple(i for i in (f.tool_span_id, f.seen_by_span_id, *f.also_at) if i),
        evidence=f.evidence,
        run_id=f.agent_run_id or "",
    )
