"""Error rates from sums over clusters: shares and means of weighted units, with intervals, and their differences.

Units of unequal weight (a judge or a sampler upstream looked at one in ten) tell less than their number, and turns of
one run tell less than as many turns of as many runs. Both are ratio estimates R = Σwx / Σwt over clusters i, whose
variance is linearised: V = n / (n - 1) · Σ w²(x - Rt)² / (Σwt)² (Cochran, "Sampling techniques", 1977, section 6.8;
with replacement, so it does not shrink where nearly all runs were judged: the rate is that of the process, not of
these runs).
"""

from __future__ import annotations

from math import hypot, isclose, sqrt
from statistics import NormalDist
from typing import Final

from ...schemas.rates import Estimate, Sums
from .distributions import poisson_bounds, t_quantile
from .wilson import wilson_of

_LEVEL: Final = 0.95
_TAIL: Final = (1 + _LEVEL) / 2
_Z: Final = NormalDist().inv_cdf(_TAIL)


def effective(sums: Sums) -> float:
    """Independent units of equal weight that would tell as much of the share; 0 where nothing was judged.

    p(1 - p) / V, but never more than Kish's (Σw)² / Σw² (1965) gives: so little is known of heavy runs without an
    error that the variance seen may be far too small (Korn and Graubard, "Confidence intervals for proportions with
    small expected number of positive counts", 1998, cap theirs likewise). Several turns a run: V is that of runs, and
    a variance known from few of them counts less by (z / t)² (theirs, too); where nothing or everything failed, the
    turns of one run are taken to stand and fall together.
    """
    if not sums.n or not sums.wt:
        return 0.0
    seen = _seen(sums)
    if sums.units == sums.n:
        return seen
    p = _part(sums.wb, sums.wt)
    freedom = min(sums.n - 1, min(p, 1 - p) * seen + 1)
    return max(1.0, seen / _few(freedom)) if freedom else 1.0


def share(sums: Sums) -> Estimate | None:
    """Σwb / Σwt with Wilson's interval at the effective size: exactly Wilson's where all weights are equal."""
    if not sums.n or not sums.wt:
        return None
    value = _part(sums.wb, sums.wt)
    return Estimate(value, *wilson_of(value, effective(sums)))


def mean(sums: Sums) -> Estimate | None:
    """Errors a unit, Σwy / Σwt, with the interval of a Poisson mean at the effective count of errors.

    Errors come in lumps: that of V / R is what one independent event adds to the mean R, and R / (V / R) how many such
    were seen (Fay and Feuer, "Confidence intervals for directly standardized rates", 1997). Known from h units with an
    error, the lump counts (t / z)² times, t with h + 1 degrees of freedom, which simulation bears out. Without any
    error one is taken to come alone.
    """
    if not sums.n or not sums.wt:
        return None
    value, lump = sums.wy / sums.wt, _lump(sums)
    low, high = poisson_bounds(value / lump)
    return Estimate(value, low * lump, high * lump)


def share_difference(a: Sums, b: Sums) -> tuple[Estimate, float] | None:
    """Share of b less that of a, and the p-value of no difference, two-sided; None where either judged nothing.

    Interval: Newcombe's hybrid score interval ("Interval estimation for the difference between independent
    proportions", 1998, method 10). Test: score test with the shares pooled, of effective sizes.
    """
    first, second = share(a), share(b)
    if first is None or second is None:
        return None
    sizes = effective(a), effective(b)
    pooled = (sizes[0] * first.value + sizes[1] * second.value) / sum(sizes)
    error = sqrt(pooled * (1 - pooled) * (1 / sizes[0] + 1 / sizes[1]))
    return _hybrid(first, second), _p_value(second.value - first.value, error)


def mean_difference(a: Sums, b: Sums) -> tuple[Estimate, float] | None:
    """Errors a unit of b less those of a, and the p-value of no difference, two-sided; None as for shares.

    Interval: the hybrid of both ("method of variance estimates recovery", Zou and Donner 2008). Test: score test with
    mean and variance pooled.
    """
    first, second = mean(a), mean(b)
    if first is None or second is None:
        return None
    return _hybrid(first, second), _p_value(second.value - first.value, _mean_error(a, b))


def _hybrid(a: Estimate, b: Estimate) -> Estimate:
    """b - a: each side as far away as both intervals are, on the sides that count."""
    value = b.value - a.value
    low = value - hypot(b.value - b.low, a.high - a.value)
    return Estimate(value, low, value + hypot(b.high - b.value, a.value - a.low))


def _mean_error(a: Sums, b: Sums) -> float:
    """Standard error of the difference of means where both are of one distribution."""
    na, nb = _kish(a), _kish(b)
    pooled = (na * a.wy / a.wt + nb * b.wy / b.wt) / (na + nb)
    squares = sum(n * n * _variance(s, pooled, s.w2y2, s.w2yt) for n, s in ((na, a), (nb, b)))
    return sqrt(squares / (na + nb) * (1 / na + 1 / nb))


def _p_value(difference: float, error: float) -> float:
    return 2 * NormalDist().cdf(-abs(difference) / error) if error else 1.0


def _seen(sums: Sums) -> float:
    """Effective size as far as the variance seen tells."""
    p, kish = _part(sums.wb, sums.wt), _kish(sums)
    variance = _variance(sums, p, sums.w2b2, sums.w2bt)
    if 0 < p < 1 and variance > 0:
        return min(kish, p * (1 - p) / variance)
    return kish if sums.units == sums.n else sums.wt**2 / sums.w2t2


def _kish(sums: Sums) -> float:
    """Effective size by the weights alone."""
    if isclose(sums.w**2, sums.n * sums.w2):
        return float(sums.units)
    return sums.units / sums.n * sums.w**2 / sums.w2


def _lump(sums: Sums) -> float:
    r, size = sums.wy / sums.wt, _seen(sums)
    if not r:
        return 1 / size
    # The variance of counts is at least that of as many errors in units of one each.
    least = max(1 - r, 1 / (size + 1)) / size
    lump = max(least, _variance(sums, r, sums.w2y2, sums.w2yt) / r)
    return lump * _few(_part(sums.wb, sums.wt) * size + 1)


def _variance(sums: Sums, ratio: float, square: float, product: float) -> float:
    """V of Σwx / Σwt, from Σw²x² and Σw²xt."""
    correction = 1.0 if sums.units == sums.n else sums.n / max(1, sums.n - 1)
    return correction * max(0.0, square - 2 * ratio * product + ratio * ratio * sums.w2t2) / sums.wt**2


def _few(freedom: float) -> float:
    """How many times a variance known with so many degrees of freedom counts."""
    return (t_quantile(_TAIL, round(freedom, 1)) / _Z) ** 2


def _part(part: float, whole: float) -> float:
    return min(1.0, max(0.0, part / whole))
