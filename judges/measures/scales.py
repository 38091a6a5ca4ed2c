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
"""Failed, in part, met: the scores of four points that are one of three."""

SPLIT: Final = 2
"""The lowest score that counts as met on two points: the scale cut in its middle, which favours neither side."""

FIGURES: Final = (
    "accuracy", "off_by_one", "three_point", "two_point", "pearson", "spearman",
    "mae", "normalised_mae", "three_point_mae", "bias",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ScaleRating:
    """One score of one subject on what one judge judges: 0 to 3, of three `points` 0 to 2. `run` "": the whole trace.

    `rater`: which person, or which repetition of the judge.
    """

    trace_id: str
    run: str
    judge: str
    score: int
    rater: str = ""
    points: int = len(SCALE)


@dataclass(frozen=True, slots=True)
class ScaleAgreement:
    """One judge's scores against people's, over `n` subjects that both scored; figures are None without any.

    `points`: the scale of all figures: 4, or 3 where a person scored the judge's subjects on three points; the scores
    of four are then those of their bin in `THREE_POINT`. Shares: `accuracy` same score, `off_by_one` at most 1 apart,
    `three_point` and `two_point` same bin (the latter None where three points do not tell). Correlations are None where
    either side always gave one score. `mae` in points of the scale, `normalised_mae` that by its largest score,
    `three_point_mae` the same between bins of `THREE_POINT`, by 2; `bias` the mean of judge minus people (above 0: the
    judge is lenient). `intervals`: 95% by a figure's name: Wilson's for the shares, bootstrapped over subjects for the
    others. `judge_only`, `people_only`: subjects that the other side did not score. `raters`: how many people;
    `people`: their agreement with each other, the ceiling for a judge.
    """

    judge: str
    n: int
    points: int
    accuracy: float | None
    off_by_one: float | None
    three_point: float | None
    two_point: float | None
    two_point_bins: tuple[tuple[int, ...], ...]
    pearson: float | None
    spearman: float | None
    mae: float | None
    normalised_mae: float | None
    three_point_mae: float | None
    bias: float | None
    intervals: Mapping[str, Interval]
    judge_only: int
    people_only: int
    raters: int
    people: Alpha


def scale_agreement(
    scored: Iterable[ScaleRating], labels: Iterable[ScaleRating], split: int = SPLIT
) -> tuple[ScaleAgreement, ...]:
    """Each judge that people scored, by name. Of several raters of a subject the low median counts.

    The low median is one of the scores given: of two raters the stricter counts. The same holds for a judge's own
    repetitions, told apart by `rater`. Of several scores of one subject by one rater the last counts. `split`: the
    lowest of the scores 1 to 3 that counts as met on two points.

    Raises:
        ValueError: a score is not on its scale.
    """
    mine = _by_judge(scored)
    theirs = _by_judge(labels)
    return tuple(_agreement(judge, mine.get(judge, {}), theirs[judge], split) for judge in sorted(theirs))


Subject = tuple[str, str]
Raters = Mapping[str, ScaleRating]
Pair = tuple[int, int]
"""The judge's score, people's."""


def _agreement(
    judge: str, mine: Mapping[Subject, Raters], theirs: Mapping[Subject, Raters], split: int
) -> ScaleAgreement:
    points = min(rating.points for raters in theirs.values() for rating in raters.values())
    common = sorted(mine.keys() & theirs.keys())
    pairs = [(_median(mine[s], points), _median(theirs[s], points)) for s in common]
    thirds = pairs if points < len(SCALE) else [(_third(a), _third(b)) for a, b in pairs]
    met = split if points == len(SCALE) else {1: 1, 3: 2}.get(split)
    hits: dict[str, list[bool]] = {
        "accuracy": [a == b for a, b in pairs],
        "off_by_one": [abs(a - b) <= 1 for a, b in pairs],
        "three_point": [a == b for a, b in thirds],
        "two_point": [] if met is None else [(a >= met) == (b >= met) for a, b in pairs],
    }

    def statistics(drawn: Sequence[tuple[Pair, Pair]]) -> dict[str, float]:
        return distances([pair for pair, _ in drawn], points) | {
            "three_point_mae": fmean(abs(a - b) for _, (a, b) in drawn) / (len(THREE_POINT) - 1)
        }

    both = list(zip(pairs, thirds, strict=True))
    figures = {name: sum(h) / len(h) for name, h in hits.items() if h} | (statistics(both) if both else {})
    around = {name: i for name, h in hits.items() if (i := wilson(sum(h), len(h))) is not None}
    raters = sorted({rater for rated in theirs.values() for rater in rated})
    said = [{name: _on(rating, points) for name, rating in rated.items()} for rated in theirs.values()]
    return ScaleAgreement(
        judge=judge,
        n=len(pairs),
        points=points,
        **{name: figures.get(name) for name in FIGURES},
        two_point_bins=(SCALE[:split], SCALE[split:]),
        intervals=around | intervals(both, statistics),
        judge_only=len(mine.keys() - theirs.keys()),
        people_only=len(theirs.keys() - mine.keys()),
        raters=len(raters),
        people=krippendorff_alpha([[rated.get(r) for r in raters] for rated in said]),
    )


def distances(pairs: Sequence[Pair], points: int = len(SCALE)) -> dict[str, float]:
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
    return {**defined, "mae": mae, "normalised_mae": mae / (points - 1), "bias": fmean(a - b for a, b in pairs)}


def _by_judge(scores: Iterable[ScaleRating]) -> dict[str, dict[Subject, dict[str, ScaleRating]]]:
    grouped: defaultdict[str, defaultdict[Subject, dict[str, ScaleRating]]] = defaultdict(lambda: defaultdict(dict))
    for s in scores:
        if s.points not in {len(THREE_POINT), len(SCALE)} or s.score not in range(s.points):
            raise ValueError(f"{s.judge}'s score {s.score} of {s.trace_id} is not one of {SCALE[: s.points]}")
        grouped[s.judge][s.trace_id, s.run][s.rater] = s
    return {judge: dict(subjects) for judge, subjects in grouped.items()}


def _median(raters: Raters, points: int) -> int:
    return median_low(_on(rating, points) for rating in raters.values())


def _on(rating: ScaleRating, points: int) -> int:
    return rating.score if rating.points == points else _third(rating.score)


def _third(score: int) -> int:
    return next(place for place, scores in enumerate(THREE_POINT) if score in scores)
