"""Correlation of two raters' scores: along a line (Pearson), and of their ranks (Spearman)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from math import sqrt
from statistics import fmean


def pearson(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    """Covariance by the product of standard deviations; None for fewer than two pairs, or where a side is constant.

    Raises:
        ValueError: the sides differ in length.
    """
    if len(xs) != len(ys):
        raise ValueError(f"{len(xs)} scores beside {len(ys)}")
    if len(xs) < 2 or min(xs) == max(xs) or min(ys) == max(ys):  # noqa: PLR2004  one pair lies on every line
        return None
    x0, y0 = fmean(xs), fmean(ys)
    product = sum((x - x0) * (y - y0) for x, y in zip(xs, ys, strict=True))
    scale = sqrt(sum((x - x0) ** 2 for x in xs)) * sqrt(sum((y - y0) ** 2 for y in ys))
    return max(-1.0, min(1.0, product / scale)) if scale else None


def spearman(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    """Pearson of the ranks, ties sharing their mean rank (Spearman 1904); None as for Pearson.

    Raises:
        ValueError: the sides differ in length.
    """
    return pearson(ranks(xs), ranks(ys))


def ranks(values: Sequence[float]) -> list[float]:
    """Rank of each value from 1; equal values share the mean of theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    result = [0.0] * len(values)
    below = 0
    for _, tied in groupby(order, key=values.__getitem__):
        places = list(tied)
        for place in places:
            result[place] = below + (len(places) + 1) / 2
        below += len(places)
    return result
