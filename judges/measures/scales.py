"""A judge's scores beside scores that people gave, on the scale 0 to 3."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median_low
from typing import Final

from tracejury.judges.bootstrap import Interval, intervals

from .correlation import pearson, spearman
from .reliability import Alpha, krippendorff_alpha
from .wilson import wilson

SCALE: Final = (0, 1, 2, 3)
THREE_POINT: Final = ((0,), (1, 2), (3,))
"""Failed, in part, met."""

TWO_POINT: Final = ((0, 1), (2, 3))
"""Rather failed, rather met: the scale cut in its middle, which favours neither side."""

FIGURES: Final = (
    "accuracy", "off_by_one", "three_point", "two_point", "pearson", "spearman", "mae", "normalised_mae", "bias",
)  # fmt: skip

Bins = Sequence[Sequence[int]]
"""Scores that count as the same; each of the scale in exactly one bin."""


@dataclass(frozen=True, slots=True)
class ScaleRating:
    """One score, 0 to 3, of one subject on what one judge judges. `run` "": of the whole trace.

    `rater`: which person, or which repetition of the judge.
    """

    trace_id: str
    run: str
    judge: str
    score: int
    rater: str = ""


@dataclass(frozen=True, slots=True)
class ScaleAgreement:
    """One judge's scores against people's, over `n` subjects that both scored; figures are None without any.

    Shares: `accuracy` same score, `off_by_one` at most 1 apart, `three_point` and `two_point` same bin. Correlations
    are None where either side always gave one score. `mae` in points of the scale, `normalised_mae` that by 3, `bias`
    the mean of judge minus people (above 0: the judge is lenient). `intervals`: 95% by a figure's name: Wilson's for
    the shares, bootstrapped over subjects for the others. `judge_only`, `people_only`: subjects that the other side
    did not score. `raters`: how many people; `people`: their agreement with each other, the ceiling for a judge.
    """

    judge: str
    n: int
    accuracy: float | None
    off_by_one: float | None
    three_point: float | None
    two_point: float | None
    two_point_bins: tuple[tuple[int, ...], ...]
    pearson: float | None
    spearman: float | None
    mae: float | None
    normalised_mae: float | None
    bias: float | None
    intervals: Mapping[str, Interval]
    judge_only: int
    people_only: int
    raters: int
    people: Alpha


def scale_agreement(scored: Iterable[ScaleRating], labels: Iterable[ScaleRating]) -> tuple[ScaleAgreement, ...]:
    """Each judge that people scored, by name. Of several raters of a subject the low median counts.

    The low median is one of the scores given: of two raters the stricter counts. The same holds for a judge's own
    repetitions, told apart by `rater`. Of several scores of one subject by one rater the last counts.

    Raises:
        ValueError: a score is not on the scale.
    """
    mine = _by_judge(scored)
    theirs = _by_judge(labels)
    return tuple(_agreement(judge, mine.get(judge, {}), theirs[judge]) for judge in sorted(theirs))


Subject = tuple[str, str]
Raters = Mapping[str, int]
Pair = tuple[int, int]
"""The judge's score, people's."""


def _agreement(judge: str, mine: Mapping[Subject, Raters], theirs: Mapping[Subject, Raters]) -> ScaleAgreement:
    common = sorted(mine.keys() & theirs.keys())
    pairs = [(median_low(mine[s].values()), median_low(theirs[s].values())) for s in common]
    hits: dict[str, list[bool]] = {
        "accuracy": [a == b for a, b in pairs],
        "off_by_one": [abs(a - b) <= 1 for a, b in pairs],
        "three_point": [_bin(THREE_POINT, a) == _bin(THREE_POINT, b) for a, b in pairs],
        "two_point": [_bin(TWO_POINT, a) == _bin(TWO_POINT, b) for a, b in pairs],
    }
    figures = {name: sum(h) / len(h) for name, h in hits.items() if h} | distances(pairs)
    around = {name: i for name, h in hits.items() if (i := wilson(sum(h), len(h))) is not None}
    raters = sorted({rater for rated in theirs.values() for rater in rated})
    return ScaleAgreement(
        judge=judge,
        n=len(pairs),
        **{name: figures.get(name) for name in FIGURES},
        two_point_bins=TWO_POINT,
        intervals=around | intervals(pairs, distances),
        judge_only=len(mine.keys() - theirs.keys()),
        people_only=len(theirs.keys() - mine.keys()),
        raters=len(raters),
        people=krippendorff_alpha([[rated.get(r) for r in raters] for rated in theirs.values()]),
    )


def distances(pairs: Sequence[Pair]) -> dict[str, float]:
    """The figures over (judge's, people's) scores that are no shares; those that are undefined are left out."""
    if not pairs:
        return {}
    mine, theirs = zip(*pairs, strict=True)
    mae = fmean(abs(a - b) for a, b in pairs)
    correlations: dict[str, Callable[[Sequence[float], Sequence[float]], float | None]] = {
        "pearson": pearson,
        "spearman": spearman,
    }
    defined = {name: r for name, f in correlations.items() if (r := f(mine, theirs)) is not None}
    return {**defined, "mae": mae, "normalised_mae": mae / max(SCALE), "bias": fmean(a - b for a, b in pairs)}


def _by_judge(scores: Iterable[ScaleRating]) -> dict[str, dict[Subject, dict[str, int]]]:
    grouped: defaultdict[str, defaultdict[Subject, dict[str, int]]] = defaultdict(lambda: defaultdict(dict))
    for s in scores:
        if s.score not in SCALE:
            raise ValueError(f"{s.judge}'s score {s.score} of {s.trace_id} is not one of {SCALE}")
        grouped[s.judge][s.trace_id, s.run][s.rater] = s.score
    return {judge: dict(subjects) for judge, subjects in grouped.items()}


def _bin(bins: Bins, score: int) -> int:
    return next(place for place, scores in enumerate(bins) if score in scores)
