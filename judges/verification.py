"""How a second look changes the confidence of a finding."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ..schemas.findings import Finding, Verification

MOST_REFUTED: Final = 0.2
"""The confidence of a refuted finding at most: stored and shown on request, but below what balanced shows from."""


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


def kept(found: Finding, stored: Finding | None) -> Finding:
    """A finding that was made again, with what was said of it before, where nobody was asked about it now."""
    if stored is None or found.verification or not stored.verification:
        return found
    return verified(found, stored.verification, stored.verified_by, stored.verification_reason)
