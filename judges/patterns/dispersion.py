"""How much more a share varies from period to period than chance alone would have it: errors come in bursts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import sqrt
from typing import Final

from .change_points import Counted

_VARIANCE: Final = 3.0
"""Variance of the mean of chi-squared values of n neighbours, times n: pairs that share a period are correlated."""


def dispersion(parts: Sequence[Sequence[Counted]]) -> float:
    """By what the variance of hits is larger than the binomial one, at least 1; counts divided by it tell as much.

    Of each of `parts` the mean of Pearson's chi-squared between neighbouring periods, as a lasting change is between
    two of them only (von Neumann, "Distribution of the ratio of the mean square successive difference to the
    variance", 1941; McCullagh and Nelder, "Generalized linear models", 1989, 4.5). One standard error is added: it is
    known from few periods.
    """
    total, count = 0.0, 0
    for part in parts:
        for a, b in pairwise([period for period in part if period.units > 0]):
            units, hits = a.units + b.units, a.hits + b.hits
            share, apart = hits / units, a.hits / a.units - b.hits / b.units
            variance = share * (1 - share) * (1 / a.units + 1 / b.units)
            if variance > 0:
                total += apart * apart / variance
                count += 1
    if total <= count:
        return 1.0
    return total / count * (1 + sqrt(_VARIANCE / count))
