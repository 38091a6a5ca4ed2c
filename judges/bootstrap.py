"""Percentile bootstrap: the range of a figure over other draws of traces (Efron 1979)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Final, TypeVar

Unit = TypeVar("Unit")
Interval = tuple[float, float]

RESAMPLES = 1000
LEVEL: Final = 0.95


def intervals(
    units: Sequence[Unit], statistics: Callable[[Sequence[Unit]], Mapping[str, float]]
) -> dict[str, Interval]:
    """Interval (low, high) of each statistic over resamples of the units, with replacement.

    All statistics of one resample are computed from the same draw; the same units give the same intervals. A statistic
    that a draw leaves out is undefined there: its interval is over the draws that define it. Without units there is
    nothing to resample and the result is empty.
    """
    if not units:
        return {}
    random = Random(0)  # noqa: S311 - statistics, nothing secret
    draws = [statistics(random.choices(units, k=len(units))) for _ in range(RESAMPLES)]
    tail = (1 - LEVEL) / 2
    return {
        name: (quantile(values, tail), quantile(values, 1 - tail))
        for name in dict.fromkeys(name for draw in draws for name in draw)
        for values in [sorted(draw[name] for draw in draws if name in draw)]
    }


def quantile(ordered: Sequence[float], share: float) -> float:
    """The `share` quantile of ascending values, linear between neighbours (Hyndman and Fan's definition 7)."""
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)
