"""Sums over clusters drawn or listed by a test."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tracejury.schemas.rates import Sums


class Cluster(NamedTuple):
    """One run: its weight, units with an error, errors, units."""

    weight: float
    failed: int
    errors: int
    units: int = 1


def sums(clusters: Iterable[Cluster]) -> Sums:
    """The sums of all clusters."""
    return Sums(*map(sum, zip(*map(_terms, clusters), strict=True)))


def _terms(cluster: Cluster) -> tuple[float, ...]:
    w, b, y, t = cluster
    w2 = w * w
    own = (w, w2, w * t, w2 * t * t, w * b, w2 * b * b, w2 * b * t, w * y, w2 * y, w2 * y * t, w2 * y * y)
    return 1, t, b, y, *own
