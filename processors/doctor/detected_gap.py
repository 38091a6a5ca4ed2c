"""A gap that a rule detected, and counts with their nouns."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ...schemas.normalized import NormalizedSpan


@dataclass(frozen=True, slots=True)
class DetectedGap:
    """A gap of a kind that `gaps.yaml` describes; `what` counts it; `spans` are those concerned."""

    kind: str
    what: str
    spans: Sequence[NormalizedSpan]


def count(items: Collection[object] | int, noun: str) -> str:
    """`3 spans`, `1 span`."""
    number = items if isinstance(items, int) else len(items)
    return f"{number} {noun}{'s' * (number != 1)}"
