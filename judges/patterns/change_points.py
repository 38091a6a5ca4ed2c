"""Since when a rate is another: the change point of a series of shares, by likelihood."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import erfc, exp, log, sqrt
from typing import Final

LEVEL: Final = 0.95


@dataclass(frozen=True, slots=True)
class Counted:
    """A period: `hits` of `units`, which need not be whole (effective numbers)."""

    units: float
    hits: float

    @classmethod
    def of(cls, periods: Iterable[Counted]) -> Counted:
        """All these periods together."""
        units = hits = 0.0
        for period in periods:
            units += period.units
            hits += period.hits
        return cls(units, hits)

    def __truediv__(self, dispersion: float) -> Counted:
        """As many independent units as tell as much."""
        return Counted(self.units / dispersion, self.hits / dispersion)


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """The first period with the other rate: the likeliest `at`, `first` to `last` hold the true one with 95 %.

    `statistic`: twice the gain in log-likelihood over one rate for all.
    """

    at: int
    first: int
    last: int
    statistic: float


def change_point(periods: Sequence[Counted]) -> ChangePoint | None:
    """The point before and after which the share of hits differs most; None where chance explains it.

    The likelihood is binomial with one share before and one from the point on (Hinkley, "Inference about the
    change-point in a sequence of random variables", 1970). That there is a change is tested by the likelihood ratio
    with Bonferroni's correction for the places where it may be. The interval spans the likeliest points that together
    have 95 % of the likelihood, which is the posterior where each is as likely before.
    """
    total = Counted.of(periods)
    if not periods[1:] or not total.hits:
        return None
    whole, units, hits = _likelihood(total.units, total.hits), 0.0, 0.0
    gains: list[float] = []
    for period in periods[:-1]:
        units += period.units
        hits += period.hits
        gains.append(_likelihood(units, hits) + _likelihood(total.units - units, total.hits - hits) - whole)
    best = max(range(len(gains)), key=lambda index: gains[index])
    if erfc(sqrt(max(gains[best], 0.0))) * len(gains) > 1 - LEVEL:
        return None
    weights = [exp(gain - gains[best]) for gain in gains]
    wanted, held, inside = LEVEL * sum(weights), 0.0, list[int]()
    for index in sorted(range(len(weights)), key=lambda index: -weights[index]):
        inside.append(index)
        held += weights[index]
        if held >= wanted:
            break
    return ChangePoint(best + 1, min(inside) + 1, max(inside) + 1, 2 * gains[best])


def _likelihood(units: float, hits: float) -> float:
    """The log-likelihood of `hits` of `units` at their own share."""
    misses = units - hits
    if hits <= 0 or misses <= 0:
        return 0.0
    return hits * (log(hits) - log(units)) + misses * (log(misses) - log(units))
