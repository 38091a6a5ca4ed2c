"""Measures over several sessions: weighted means or pooled ratios with 95% intervals, their average and differences.

A mean is the ratio of Σw·value to Σw, the pooled measure that of Σw·numerator to Σw·denominator: both are ratio
estimates over sessions, whose variance is linearised as that of error rates is (`judges/measures/rates.py`). Agent
runs of one trace are a cluster: they tell no more than one does where they agree.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import fsum, sqrt
from typing import Final

from tracejury.judges.measures.distributions import deviate, t_quantile
from tracejury.judges.measures.rates import hybrid
from tracejury.judges.measures.wilson import wilson_of
from tracejury.schemas.rates import Estimate

_LEVEL: Final = 0.95
_TAIL: Final = (1 + _LEVEL) / 2


@dataclass(frozen=True, slots=True)
class SessionScore:
    """One measure of one session. `value` None: not applicable. `weight`: sessions that it stands for, 0 for none.

    `cluster`: the trace whose other runs may be like it, "" for none.
    """

    value: float | None
    numerator: float = 0.0
    denominator: float = 0.0
    weight: float = 1.0
    cluster: str = ""


@dataclass(frozen=True, slots=True)
class CountSpread:
    """Weighted mean and standard deviation of a count, over `n` units; the deviation of one unit is 0."""

    mean: float
    deviation: float
    n: int


def measure_of(scores: Iterable[SessionScore], *, pooled: bool = False) -> Estimate | None:
    """The measure over the sessions where it is defined, None where it is in none.

    The weighted mean of the values; `pooled`: the sum of numerators over that of denominators.
    """
    parts: dict[str | int, tuple[float, float]] = {}
    for number, s in enumerate(scores):
        first, second = (s.numerator, s.denominator) if pooled else (s.value or 0.0, 1.0)
        if s.value is not None and s.weight > 0 and second:
            before = parts.get(s.cluster or number, (0.0, 0.0))
            parts[s.cluster or number] = before[0] + s.weight * first, before[1] + s.weight * second
    return _ratio(list(parts.values()))


def average(means: Iterable[float | None]) -> float | None:
    """AVG: the plain mean of the means that are defined; None where none is."""
    defined = [mean for mean in means if mean is not None]
    return fsum(defined) / len(defined) if defined else None


def difference(a: Estimate | None, b: Estimate | None) -> Estimate | None:
    """The second less the first, with the hybrid interval of both; None where either is undefined."""
    return None if a is None or b is None else hybrid(a, b)


def spread(counts: Iterable[tuple[float, float]]) -> CountSpread | None:
    """Mean and deviation of (weight, count): exchanges of a session, states of an exchange; None without any."""
    counted = [(weight, count) for weight, count in counts if weight > 0]
    total = fsum(weight for weight, _ in counted)
    if not total:
        return None
    mean = fsum(weight * count for weight, count in counted) / total
    squares = fsum(weight * (count - mean) ** 2 for weight, count in counted)
    return CountSpread(mean, sqrt(squares / total), len(counted))


def _ratio(parts: list[tuple[float, float]]) -> Estimate | None:
    """Σ of the first over Σ of the second, each first at most its second, with Wilson's interval at effective size."""
    whole = fsum(second for _, second in parts)
    if not whole:
        return None
    value = min(1.0, max(0.0, fsum(first for first, _ in parts) / whole))
    return Estimate(value, *wilson_of(value, _effective(parts, value, whole), level=_LEVEL))


def _effective(parts: list[tuple[float, float]], value: float, whole: float) -> float:
    """Independent yes-or-no sessions of equal weight that would tell as much.

    At least Kish's size: no value in [0, 1] varies more than a yes or no of the same mean. Sessions that differ less
    count for more, as far as so many show how little they differ: variance by Student's t.
    """
    least = whole**2 / fsum(second**2 for _, second in parts)
    variance = fsum((first - value * second) ** 2 for first, second in parts) / whole**2
    if not variance or value in {0.0, 1.0}:
        return least
    freedom = max(1.0, least - 1)
    few = (freedom + 1) / freedom * (t_quantile(_TAIL, freedom) / deviate(_LEVEL)) ** 2
    return max(least, value * (1 - value) / variance / few)
