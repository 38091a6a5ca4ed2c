"""How a second look changes the confidence of a finding."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from tracejury.schemas.detector_opinions import DetectorOpinion
from tracejury.schemas.findings import Finding, Verification

MOST_REFUTED: Final = 0.2
"""The confidence of a refuted finding at most: stored and shown on request, but below what balanced shows from."""


def decided(finding: Finding) -> bool:
    """Whether it was confirmed or refuted."""
    return finding.verification in (Verification.VERIFIED, Verification.REFUTED)


def confidence_after(confidence: float, verification: Verification) -> float:
    """The confidence in [0, 1] after a second look: a verified finding is half as doubtful as before."""
    match verification:
        case Verification.VERIFIED:
            return 1 - (1 - confidence) / 2
        case Verification.REFUTED:
            return min(confidence, MOST_REFUTED)
    return confidence


def verified(finding: Finding, verification: Verification, by: str = "", reason: str = "") -> Finding:
    """The finding (nobody was asked about it before) with what `by` says of it."""
    return replace(
        finding,
        confidence=confidence_after(finding.confidence, verification),
        verification=verification,
        verified_by=by,
        verification_reason=reason,
    )


def answered(findings: Iterable[Finding], opinions: Iterable[DetectorOpinion]) -> list[Finding]:
    """Detectors' findings (nobody was asked about them before) with the opinions on them."""
    said = {opinion.finding_id: opinion for opinion in opinions}
    return [verified(f, o.verification, o.by, o.reason) if (o := said.get(f.id)) else f for f in findings]


def kept(found: Finding, stored: Finding | None) -> Finding:
    """A finding that was made again, with what was said of it before, where nobody was asked about it now."""
    if stored is None or found.verification or not stored.verification:
        return found
    return verified(found, stored.verification, stored.verified_by, stored.verification_reason)
