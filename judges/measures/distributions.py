"""Quantiles of the normal, Student's t and the Poisson distribution, without a numeric library."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from math import copysign, exp, lgamma, log, log1p, sqrt
from statistics import NormalDist
from typing import Final

_MANY: Final = 10  # degrees of freedom from which an expansion is as good as the distribution
_TINY: Final = 1e-300
_EXACT: Final = 1e-15  # as far as floats tell
_TERMS: Final = 10_000


@cache
def deviate(level: float) -> float:
    """The number of standard deviations that hold this share of a normal distribution: 1.96 hold 95 %."""
    return NormalDist().inv_cdf((1 + level) / 2)


@lru_cache(maxsize=4096)
def t_quantile(share: float, freedom: float) -> float:
    """The `share` quantile of Student's t with `freedom` > 0 degrees of freedom, which need not be whole.

    From 10 degrees on by Fisher and Cornish's expansion (1960), right to four digits; below from the distribution.
    """
    z = NormalDist().inv_cdf(share)
    if freedom >= _MANY:
        z2, n = z * z, freedom
        first, second = (z2 + 1) / 4, ((5 * z2 + 16) * z2 + 3) / 96
        third = (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384
        fourth = ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) / 92160
        return z * (1 + first / n + second / n**2 + third / n**3 + fourth / n**4)
    # P(|T| > t) = I_x(freedom / 2, 1 / 2) with x = freedom / (freedom + t²).
    x = _bisect(lambda x: beta_share(freedom / 2, 0.5, x), 2 * min(share, 1 - share), 0.0, 1.0)
    return copysign(sqrt(freedom * (1 - x) / x), z)


def poisson_bounds(count: float, *, level: float = 0.95) -> tuple[float, float]:
    """Interval of a Poisson mean of which `count` were seen; a weighted or over-dispersed count need not be whole.

    Byar's approximation of the exact bounds (Breslow and Day, "Statistical methods in cancer research II", 1987, eq.
    2.13): within 1 % above 1, and too low rather than too high below.
    """
    z = deviate(level)
    low = count * max(0.0, 1 - 1 / (9 * count) - z / (3 * sqrt(count))) ** 3 if count else 0.0
    above = count + 1
    return low, above * (1 - 1 / (9 * above) + z / (3 * sqrt(above))) ** 3


def beta_share(a: float, b: float, x: float) -> float:
    """Regularised incomplete beta function I_x(a, b), by its continued fraction (Abramowitz and Stegun, 26.5.8)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_share(b, a, 1 - x)
    scale = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)) / a
    return scale * _fraction(lambda m: _beta_term(a, b, x, m))


def _beta_term(a: float, b: float, x: float, m: int) -> float:
    if m == 1:
        return 1.0
    n, odd = divmod(m - 1, 2)
    if odd:
        return -(a + n) * (a + b + n) * x / ((a + 2 * n) * (a + 2 * n + 1))
    return n * (b - n) * x / ((a + 2 * n - 1) * (a + 2 * n))


def _fraction(numerator: Callable[[int], float]) -> float:
    """a1 / (1 + a2 / (1 + …)) by Lentz's method as Thompson and Barnett (1986) changed it."""
    value, c, d = _TINY, _TINY, 0.0
    for m in range(1, _TERMS):
        d = 1 / (1 + numerator(m) * d or _TINY)
        c = 1 + numerator(m) / c or _TINY
        value *= c * d
        if abs(c * d - 1) < _EXACT:
            break
    return value


def _bisect(rising: Callable[[float], float], target: float, low: float, high: float) -> float:
    """Where a rising function reaches the target between two arguments."""
    for _ in range(200):
        middle = (low + high) / 2
        if middle in {low, high}:
            break
        low, high = (middle, high) if rising(middle) < target else (low, middle)
    return (low + high) / 2
