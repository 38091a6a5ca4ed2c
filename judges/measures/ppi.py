"""A judge's error rate corrected by the labels of people: prediction-powered inference for a share.

Angelopoulos, Bates, Fannjiang, Jordan and Zrnic, "Prediction-powered inference", 2023; with power tuning ("PPI++",
Angelopoulos, Duchi and Zrnic, arXiv 2311.01453): λ·Σ ŷ / N + Σ (y - λŷ) / n, over N units that the judge has looked at,
n of which people have, too. Of a judge that only says yes or no, the λ of least variance, Cov(y, ŷ) / Var(ŷ), is the
difference of two shares of units that people see an error in: of those where the judge does (m₁) and of those where it
does not (m₀). With it the estimate is p·m₁ + (1 - p)·m₀, p the judge's rate: stratified PPI with the judge's word as
the stratum (Fisch et al., arXiv 2406.04291) and Tenenbein's double sampling (1970) in one. Where labels are drawn with
unequal probabilities, each weighs by how many units it stands for.

The usual interval, 1.96 standard errors either way, is too short where few labels stand beside few errors. So the
intervals of p, m₁ and m₀, Wilson's at effective size, are put together by the method of variance estimates recovery
(Zou and Donner 2008; of Wilson's intervals over strata: Yan and Su 2010).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import hypot

from tracejury.schemas.rates import Estimate, Sums

from .rates import share


@dataclass(frozen=True, slots=True)
class Pair:
    """A unit that a person and the judge have looked at: does either see an error?

    `human`: 0 or 1. `weight`: how many units of the population it stands for.
    """

    human: float
    judge: bool
    weight: float = 1.0


def calibrated_share(population: Sums, pairs: Iterable[Pair]) -> Estimate | None:
    """The share of units with an error as people see them. `population`: of what the judge sees, labelled units too.

    None where nothing was judged, and where nobody looked at units in which the judge sees errors although it sees
    some, or at others although there are such.
    """
    rate = share(population)
    if rate is None:
        return None
    told = tuple(pairs)
    with_error = _human([p for p in told if p.judge], needed=rate.value > 0)
    without = _human([p for p in told if not p.judge], needed=rate.value < 1)
    if with_error is None or without is None:
        return None
    return _combined(rate, with_error, without)


def confirmed_share(rate: Estimate, pairs: Iterable[Pair]) -> Estimate | None:
    """The share of units in which the judge sees an error and people do, too: p·m₁. `rate`: of what the judge sees.

    None where nobody looked at units in which the judge sees one.
    """
    with_error = _human([pair for pair in pairs if pair.judge], needed=True)
    return _combined(rate, with_error, Estimate(0.0, 0.0, 0.0)) if with_error else None


def _combined(p: Estimate, with_error: Estimate, without: Estimate) -> Estimate:
    """p·m₁ + (1 - p)·m₀."""
    tuned = with_error.value - without.value
    value = without.value + tuned * p.value
    below, above = (p.value - p.low), (p.high - p.value)
    if tuned < 0:
        below, above = above, below
    low = hypot(p.value * (with_error.value - with_error.low), (1 - p.value) * (without.value - without.low))
    high = hypot(p.value * (with_error.high - with_error.value), (1 - p.value) * (without.high - without.value))
    low, high = hypot(low, tuned * below), hypot(high, tuned * above)
    return Estimate(value, max(0.0, value - low), min(1.0, value + high))


def _human(pairs: list[Pair], *, needed: bool) -> Estimate | None:
    """The share with an error among those that people looked at."""
    if not pairs:
        return None if needed else Estimate(0.0, 0.0, 1.0)
    return share(sum((_sums(pair) for pair in pairs), Sums()))


def _sums(pair: Pair) -> Sums:
    w, y = pair.weight, pair.human
    return Sums(
        n=1, units=1, hits=round(y), w=w, w2=w * w, wt=w, w2t2=w * w, wb=w * y, w2b2=(w * y) ** 2, w2bt=w * w * y
    )
