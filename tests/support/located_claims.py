"""Claims at spans, for tests of what is scored."""

from __future__ import annotations

from typing import Any

from tracejury.judges.measures.located_claim import LocatedClaim
from tracejury.schemas.taxonomy import Severity


def claimed(span: str, *others: str, **changes: Any) -> LocatedClaim:
    """A claim with that primary span, which names the others, too."""
    fields: dict[str, Any] = {
        "trace_id": "t",
        "run": "r",
        "agent": "agent",
        "judge": "rule",
        "category": "Formatting Errors",
        "severity": Severity.MEDIUM,
        "confidence": 0.5,
    }
    return LocatedClaim(span=span, spans=frozenset({span, *others}), **fields | changes)
