"""What LLM judges say of findings that the detectors made."""

from __future__ import annotations

from dataclasses import dataclass

from .findings import Finding, Verification


@dataclass(frozen=True, slots=True)
class DetectorOpinion:
    """What a judge, `by` its model, says of one finding of the detectors, with the reason in a sentence."""

    tenant: str
    trace_id: str
    finding_id: str
    verification: Verification
    by: str
    reason: str

    @classmethod
    def on(cls, finding: Finding, verification: Verification, by: str, reason: str) -> DetectorOpinion:
        """An opinion on this finding."""
        return cls(finding.tenant, finding.trace_id, finding.id, verification, by, reason)
