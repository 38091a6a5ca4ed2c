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
    terms = [
        (1, t, b, y, w, w * w, w * t, w * w * t * t, w * b, w * w * b * b, w * w * b * t)
        + (w * y, w * w * y, w * w * y * t, w * w * y * y)
        for w, b, y, t in clusters
    ]
    return Sums(*map(sum, zip(*terms, strict=True)))
