"""What a run of the judging found, whether it was read from the API or taken from the suite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ....schemas.findings import Finding
from ....schemas.wire.traces import ErrorJson


@dataclass(frozen=True, slots=True)
class DetectedError:
    """What the harness needs of a finding."""

    trace_id: str
    span_id: str
    category: str
    judge: str
    confidence: float
    dimensions: tuple[str, ...]
    evidence: str
    run_id: str = ""


@dataclass(frozen=True, slots=True)
class DetectedErrors:
    """All findings, in whatever order.

    `failures`: the detectors that failed (name: why), where the way to them tells; `refused`: spans and log records
    that the receiver did not take.
    """

    findings: tuple[DetectedError, ...]
    failures: Mapping[str, str] = field(default_factory=dict)
    refused: int = 0


def of_finding(f: Finding) -> DetectedError:
    """From the domain model."""
    return DetectedError(
        f.trace_id,
        f.span_id,
        f.category,
        f.judge,
        f.confidence,
        tuple(d.value for d in f.dimensions),
        f.evidence,
        f.agent_run_id,
    )


def of_json(f: ErrorJson) -> DetectedError:
    """From the API."""
    return DetectedError(
        f.trace_id,
        f.span_id,
        f.category,
        f.judge,
        f.confidence,
        tuple(f.dimensions),
        f.evidence,
        f.agent_run_id or "",
    )
