"""The reliability of a judge's scores over repetitions: Krippendorff's alpha and the spread per trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from statistics import fmean, stdev
from typing import Final

from tracejury.judges.bootstrap import Interval, intervals

BEST_SCORE: Final = 3
"""Scores run from 0 to this."""

Ratings = Sequence[Sequence[float | None]]
"""A unit (trace, run) a row, its ratings in any order; None: no valid rating."""


@dataclass(frozen=True, slots=True)
class Alpha:
    """Krippendorff's alpha, 1 for perfect agreement, 0 for chance, or why there is none (`reason`, where it is None).

    `units` with at least two valid ratings, and their `ratings` in all; `left_out`: units with fewer. `interval`: 95%
    over units, of the resamples in which ratings differ.
    """

    alpha: float | None
    interval: Interval | None
    units: int
    ratings: int
    left_out: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean over `units` of the standard deviation of a unit's ratings (n - 1 in the denominator), scores in [0, 1].

    `interval`: 95%, bootstrapped over units. None, with a `reason`, where no unit has two valid ratings.
    """

    mean: float | None
    interval: Interval | None
    units: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Reliability:
    """One judge's scores over several runs; both on scores in [0, 1]."""

    alpha: Alpha
    spread: Spread


def reliability(scores: Ratings) -> Reliability:
    """Alpha and spread of scores 0 to 3, one row a trace or run, one rating a repetition.

    Raises:
        ValueError: a score is not in [0, 3].
    """
    scaled = [[None if s is None else _scaled(s) for s in row] for row in scores]
    return Reliability(krippendorff_alpha(scaled), spread(scaled))


def by_repetition(runs: Sequence[Mapping[str, float | None]]) -> list[list[float | None]]:
    """Rows for `reliability` from what each repetition gave: subject to score (None, or no entry: unscored)."""
    subjects = sorted({subject for run in runs for subject in run})
    return [[run.get(subject) for run in runs] for subject in subjects]


def krippendorff_alpha(ratings: Ratings) -> Alpha:
    """1 - observed / expected disagreement.

    Krippendorff, "Computing Krippendorff's Alpha-Reliability", 2011, section E: any number of raters, missing ratings.
    With m_u ratings in unit u and n in all, observed is the mean over ratings of the squared differences within units,
    each unit's pairs weighed by 1 / (m_u - 1), and expected the same over all pairs, weighed by 1 / (n - 1). Where all
    ratings are equal there is nothing to tell agreement from, and alpha is None.

    Raises:
        ValueError: a rating is no finite number.
    """
    rows = [_valid(row) for row in ratings]
    units = [row for row in rows if len(row) > 1]
    alpha = _alpha(units)
    if alpha is None:
        return Alpha(None, None, len(units), sum(map(len, units)), len(rows) - len(units), _why_none(units))
    drawn = intervals(units, lambda draw: _defined(_alpha(draw)))
    return Alpha(alpha, drawn.get("alpha"), len(units), sum(map(len, units)), len(rows) - len(units))


def spread(ratings: Ratings) -> Spread:
    """Mean standard deviation per unit, over units with at least two valid ratings.

    Raises:
        ValueError: a rating is no finite number.
    """
    deviations = [stdev(row) for row in map(_valid, ratings) if len(row) > 1]
    if not deviations:
        return Spread(None, None, 0, _TOO_FEW)
    drawn = intervals(deviations, lambda draw: {"mean": fmean(draw)})
    return Spread(fmean(deviations), drawn["mean"], len(deviations))


_TOO_FEW: Final = "nothing has two valid ratings"


def _alpha(units: Sequence[Sequence[float]]) -> float | None:
    pooled = Counter(value for unit in units for value in unit)
    n = pooled.total()
    expected = _disagreement(pooled) / (n - 1) if n > 1 else 0.0
    if not expected:
        return None
    return 1 - sum(_disagreement(Counter(unit)) / (len(unit) - 1) for unit in units) / expected


def _disagreement(values: Counter[float]) -> float:
    """Squared differences summed over unordered pairs."""
    distinct = sorted(values.items())
    return sum(
        count * other_count * (value - other) * (value - other)
        for place, (value, count) in enumerate(distinct)
        for other, other_count in distinct[:place]
    )


def _valid(row: Sequence[float | None]) -> list[float]:
    values = [float(value) for value in row if value is not None]
    if not all(map(isfinite, values)):
        raise ValueError("a rating is no finite number")
    return values


def _scaled(score: float) -> float:
    if not 0 <= score <= BEST_SCORE:
        raise ValueError(f"score {score} is not in 0 to {BEST_SCORE}")
    return score / BEST_SCORE


def _defined(alpha: float | None) -> dict[str, float]:
    return {} if alpha is None else {"alpha": alpha}


def _why_none(units: Sequence[Sequence[float]]) -> str:
    if not units:
        return _TOO_FEW
    return "all ratings are equal: nothing to tell agreement from"
