"""Error rates from sums over clusters: shares and means of weighted units, with intervals, and their differences.

Units of unequal weight (a judge or a sampler upstream looked at one in ten) tell less than their number, and turns of
one run tell less than as many turns of as many runs. Both are ratio estimates R = Σwx / Σwt over clusters i, whose
variance is linearised: V = n / (n - 1) · Σ w²(x - Rt)² / (Σwt)² (Cochran, "Sampling techniques", 1977, section 6.8;
with replacement, so it does not shrink where nearly all runs were judged: the rate is that of the process, not of
these runs).
"""

from __future__ import annotations

from math import floor, hypot, isclose, sqrt
from statistics import NormalDist
from typing import Final

from tracejury.schemas.rates import Estimate, Sums

from .distributions import deviate, poisson_bounds, t_quantile
from .wilson import wilson_of

_LEVEL: Final = 0.95
_TAIL: Final = (1 + _LEVEL) / 2
_ROUNDING: Final = 1e-9  # less than this of its sums is no variance
_Z: Final = deviate(_LEVEL)


def effective(sums: Sums) -> float:
    """Independent units of equal weight that would tell as much of the share; 0 where nothing was judged.

    p(1 - p) / V: their number where all weights are equal. Where they are not, a heavy unit with an error may be
    missing by chance, so the variance is taken as though two more units of typical weight had failed and two had not
    (Agresti and Coull's rule for a single proportion, 1998). Where errors sit among units that are always judged, it
    may exceed the number of units: a stratified sample tells more than a simple one.

    Several turns a run: V is that of runs, never less than Kish's (Σw)² / Σw² (1965) allows, and known from few failing
    runs counts (t / z)² times (Korn and Graubard, "Confidence intervals for proportions with small expected number of
    positive counts", 1998); where all turns fail or none does, those of one run are taken to stand and fall together.
    """
    if not sums.n or not sums.wt:
        return 0.0
    seen = _seen(sums)
    if not _clustered(sums):
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
    return hybrid(first, second), _p_value(second.value - first.value, error)


def mean_difference(a: Sums, b: Sums) -> tuple[Estimate, float] | None:
    """Errors a unit of b less those of a, and the p-value of no difference, two-sided; None as for shares.

    Interval: the hybrid of both ("method of variance estimates recovery", Zou and Donner 2008). Test: score test with
    mean and variance pooled.
    """
    first, second = mean(a), mean(b)
    if first is None or second is None:
        return None
    return hybrid(first, second), _p_value(second.value - first.value, _mean_error(a, b))


def hybrid(a: Estimate, b: Estimate) -> Estimate:
    """Of b - a: each side as far away as both intervals are, on the sides that count."""
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
    if not _clustered(sums):
        return float(sums.n) if _alike(sums) else _with_four_more(sums)
    p = _part(sums.wb, sums.wt)
    variance = _variance(sums, p, sums.w2b2, sums.w2bt)
    return min(_kish(sums), p * (1 - p) / variance) if 0 < p < 1 and variance > 0 else sums.wt**2 / sums.w2t2


def _with_four_more(sums: Sums) -> float:
    p, typical = _part(sums.wb, sums.wt), sums.w2 / sums.w
    smoothed = (sums.wb + 2 * typical) / (sums.wt + 4 * typical)
    more = 2 * typical**2 * ((1 - p) ** 2 + p**2) / sums.wt**2
    return smoothed * (1 - smoothed) / (_variance(sums, p, sums.w2b2, sums.w2bt) + more)


def _clustered(sums: Sums) -> bool:
    return sums.units != sums.n


def _alike(sums: Sums) -> bool:
    """Whether all weights are equal."""
    return isclose(sums.w**2, sums.n * sums.w2)


def _kish(sums: Sums) -> float:
    """Effective size by the weights alone."""
    return float(sums.units) if _alike(sums) else sums.units / sums.n * sums.w**2 / sums.w2


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
    correction = sums.n / max(1, sums.n - 1) if _clustered(sums) else 1.0
    left = square - 2 * ratio * product + ratio * ratio * sums.w2t2
    return correction * left / sums.wt**2 if left > _ROUNDING * square else 0.0


def _few(freedom: float) -> float:
    """The factor of a variance known with so many degrees of freedom; linear between cached tenths."""
    below = floor(freedom * 10)
    first, second = ((t_quantile(_TAIL, tenths / 10) / _Z) ** 2 for tenths in (below, below + 1))
    return first + (second - first) * (freedom * 10 - below)


def _part(part: float, whole: float) -> float:
    return min(1.0, max(0.0, part / whole))
