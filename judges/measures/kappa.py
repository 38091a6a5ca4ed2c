"""Cohen's kappa: agreement of two raters on named categories, beyond what their habits alone would give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import TypeVar

from tracejury.judges.bootstrap import Interval

from .matching import Match
from .wilson import wilson

Category = TypeVar("Category", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Kappa:
    """Agreement of two raters over `n` items, or why there is none (`reason`, where `kappa` is None).

    `observed` and `expected` shares of agreement; kappa = (observed - expected) / (1 - expected), 1 at best, 0 at
    chance. `interval`: 95%, from the large-sample standard error; `observed_interval`: Wilson's. `table`: counts by
    (first rater's, second rater's) category, as text.
    """

    kappa: float | None
    interval: Interval | None
    n: int
    observed: float | None
    observed_interval: Interval | None
    expected: float | None
    table: Mapping[tuple[str, str], int]
    reason: str = ""


def cohen_kappa(pairs: Iterable[tuple[Category, Category]], *, level: float = 0.95) -> Kappa:
    """Kappa of (first rater's category, second's), one pair an item; categories are told apart by their text.

    Cohen, "A coefficient of agreement for nominal scales", 1960.
    """
    return kappa_of_table(Counter((str(a), str(b)) for a, b in pairs), level=level)


def kappa_of_table(table: Mapping[tuple[str, str], int], *, level: float = 0.95) -> Kappa:
    """Kappa of counts by (first rater's, second rater's) category.

    Undefined without items, and where both raters put all items into one category: chance alone agrees perfectly.
    """
    n = sum(table.values())
    if not n:
        return Kappa(None, None, 0, None, None, None, table, "no item was rated by both")
    categories = sorted({c for pair in table for c in pair})
    first = {c: sum(count for (a, _), count in table.items() if a == c) / n for c in categories}
    second = {c: sum(count for (_, b), count in table.items() if b == c) / n for c in categories}
    agreed = sum(count for (a, b), count in table.items() if a == b)
    observed = agreed / n
    expected = sum(first[c] * second[c] for c in categories)
    shares = {pair: count / n for pair, count in table.items()}
    around = wilson(agreed, n, level=level)
    if any(first[c] == second[c] == 1 for c in categories):
        return Kappa(None, None, n, observed, around, 1.0, table, "both raters gave one and the same answer throughout")
    kappa = (observed - expected) / (1 - expected)
    half = NormalDist().inv_cdf((1 + level) / 2) * sqrt(_variance(shares, first, second, kappa, expected) / n)
    return Kappa(kappa, (max(-1.0, kappa - half), min(1.0, kappa + half)), n, observed, around, expected, table)


def matcher_kappa(adjudicated: Iterable[Match], human: Iterable[Match]) -> Kappa:
    """Agreement of a matcher with a person on the pairs of error and finding that both decided."""
    first, second = ({(m.error, m.finding): m.caught for m in matches} for matches in (adjudicated, human))
    names = {True: "match", False: "no match"}
    return cohen_kappa((names[first[pair]], names[second[pair]]) for pair in sorted(first.keys() & second.keys()))


def _variance(
    shares: Mapping[tuple[str, str], float],
    first: Mapping[str, float],
    second: Mapping[str, float],
    kappa: float,
    expected: float,
) -> float:
    """Variance of sqrt(n) times kappa: Fleiss, Cohen and Everitt, "Large sample standard errors of kappa", 1969."""
    agreeing = sum(
        shares.get((c, c), 0.0) * (1 - (first[c] + second[c]) * (1 - kappa)) ** 2 for c in first if (c, c) in shares
    )
    differing = sum(p * (second[a] + first[b]) ** 2 for (a, b), p in shares.items() if a != b)
    total = agreeing + (1 - kappa) ** 2 * differing - (kappa - expected * (1 - kappa)) ** 2
    return max(0.0, total) / (1 - expected) ** 2
