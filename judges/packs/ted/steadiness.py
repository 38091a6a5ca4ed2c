"""How steadily trials achieve notes, by the share of runs that say so: z of a note, E and Var of a trial."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import fsum
from statistics import fmean, stdev
from typing import Final

from tracejury.schemas.checks import ItemAnswer
from tracejury.schemas.queries.measures import OwnFigure

EXPECTED: Final = "E"
SPREAD: Final = "sd of E"
NOISE: Final = "judge's sd"


def expected(answers: Sequence[ItemAnswer]) -> float:
    """E of one trial of m notes: Σ z / m."""
    return fsum(answer.share for answer in answers) / len(answers)


def variance(answers: Sequence[ItemAnswer]) -> float:
    """Var of one trial of m notes: Σ z (1 - z) / m²."""
    return fsum(answer.share * (1 - answer.share) for answer in answers) / len(answers) ** 2


def figures(groups: Mapping[str, Sequence[Sequence[ItemAnswer]]]) -> dict[str, dict[str, OwnFigure]]:
    """The figures of each group of trials, whose notes had as many runs as any note of them.

    E: its mean. `sd of E`: the agent's inconsistency, the root of the mean variance of E over the trials of a task
    (which is told by its notes), None without a task of several trials. `judge's sd`: the root of the mean Var.
    """
    runs = max((answer.runs for trials in groups.values() for answers in trials for answer in answers), default=0)
    return {
        group: _figures([t for t in trials if t and all(a.runs == runs for a in t)]) for group, trials in groups.items()
    }


def _figures(trials: Sequence[Sequence[ItemAnswer]]) -> dict[str, OwnFigure]:
    by_task: defaultdict[frozenset[str], list[float]] = defaultdict(list)
    for answers in trials:
        by_task[frozenset(answer.item for answer in answers)].append(expected(answers))
    spreads = [stdev(values) ** 2 for values in by_task.values() if len(values) > 1]
    return {
        EXPECTED: fmean(map(expected, trials)) if trials else None,
        SPREAD: fmean(spreads) ** 0.5 if spreads else None,
        NOISE: fmean(map(variance, trials)) ** 0.5 if trials else None,
    }
