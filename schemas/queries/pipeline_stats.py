"""Statistics of the pipeline for the overview, besides rates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tracejury.schemas.rates import Sums


@dataclass(frozen=True, slots=True)
class Timeliness:
    """From the arrival of spans to the first findings at them. `p50`, `p95`: nanos, None of none.

    `findings`: spans with one that this rests on.
    """

    findings: int
    p50: int | None
    p95: int | None


@dataclass(frozen=True, slots=True)
class VersionSeen:
    """The findings of one judge by one version and model. `first`, `last`: unix nanos of its judgements.

    `sums`: over the runs that it gave a verdict on, weighted as they were sampled.
    """

    version: str
    model: str
    first: int
    last: int
    sums: Sums


LEAST_LOOKS: Final = 30
"""Looks from which a verifier's habit can be told."""

ONE_SIDED: Final = 0.95
"""The share of one answer from which a verifier is remarked on."""


@dataclass(frozen=True, slots=True)
class VerifierSeen:
    """How often one model verified, refuted, or left undecided what others found.

    `detectors`: findings of detectors, else of LLM judges. `by`: the model or judge that looked.
    """

    by: str
    detectors: bool
    verified: int
    refuted: int
    unverified: int

    @property
    def total(self) -> int:
        """All looks."""
        return self.verified + self.refuted + self.unverified

    @property
    def habit(self) -> str:
        """The answer that it gives nearly always, "" where it tells findings apart or has looked at few."""
        counts = {"verified": self.verified, "refuted": self.refuted, "unverified": self.unverified}
        answer = max(counts, key=counts.__getitem__)
        return answer if self.total >= LEAST_LOOKS and counts[answer] >= ONE_SIDED * self.total else ""
