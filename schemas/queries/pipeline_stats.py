"""Statistics of the pipeline for the overview, besides rates."""

from __future__ import annotations

from dataclasses import dataclass

from ..rates import Sums


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
