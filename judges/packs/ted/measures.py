"""The formulas of TED's measures: progress by exchange, and what is made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import fsum
from typing import Final

from tracejury.judges.checks.formula import Formula, Ratio
from tracejury.schemas.checks import ItemAnswer
from tracejury.schemas.queries.measures import OwnFigures

from .steadiness import figures

Exchanges = Sequence[Sequence[ItemAnswer]]


def achieved(exchanges: Exchanges) -> tuple[int, ...]:
    """By exchange, the notes that are achieved at its end; an exchange without an answer keeps what was before."""
    found: list[int] = []
    for answers in exchanges:
        found.append(sum(answer.best for answer in answers) if answers else (found or [0])[-1])
    return tuple(found)


def notes(exchanges: Exchanges) -> int:
    """m: the notes of the task."""
    return max(map(len, exchanges), default=0)


def progress(exchanges: Exchanges) -> Ratio:
    """p(n): notes achieved of all."""
    return Ratio((achieved(exchanges) or (0,))[-1], notes(exchanges))


def area(exchanges: Exchanges) -> Ratio:
    """AUC: the area below p(1), …, p(n) by trapezoids, of n - 1; of one exchange p(1)."""
    gained = achieved(exchanges)
    if len(gained) < 2:  # noqa: PLR2004 - a trapezoid has two sides
        return progress(exchanges)
    return Ratio(fsum((one + other) / 2 for one, other in pairwise(gained)), notes(exchanges) * (len(gained) - 1))


def progress_per_turn(exchanges: Exchanges) -> Ratio:
    """PPT: p(n) by the first exchange that reaches it; 0 where nothing is achieved."""
    gained, made = achieved(exchanges), progress(exchanges)
    return Ratio(made.numerator, made.denominator * (gained.index(gained[-1]) + 1) if gained else 0)


def valid(exchanges: Exchanges) -> Ratio:
    """Valid: 1 where the user made no error, else 0."""
    answers = [answer for given in exchanges for answer in given]
    return Ratio(all(answer.best for answer in answers), bool(answers))


FORMULAS: Final[Mapping[str, Formula]] = {
    "ted-notes": progress,
    "ted-auc": area,
    "ted-ppt": progress_per_turn,
    "ted-user": valid,
}
"""By check."""

FIGURES: Final[OwnFigures] = figures
