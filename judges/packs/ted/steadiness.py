"""How steadily trials achieve notes, by the share of runs that say so: z of a note, E and Var of a trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum
from statistics import fmean
from statistics import variance as variance_of
from typing import Final

from tracejury.schemas.checks import ItemAnswer
from tracejury.schemas.queries.measures import Cells, OwnFigure

EXPECTED: Final = "E"
SPREAD: Final = "sd of E"
NOISE: Final = "judge's sd"


def expected(answers: Sequence[ItemAnswer]) -> float:
    """E of one trial of m notes: Σ z / m."""
    return fsum(answer.share for answer in answers) / len(answers)


def variance(answers: Sequence[ItemAnswer]) -> float:
    """Var of one trial of m notes: Σ z (1 - z) / m²."""
    return fsum(answer.share * (1 - answer.share) for answer in answers) / len(answers) ** 2


def figures(groups: Mapping[str, Cells]) -> dict[str, dict[str, OwnFigure]]:
    """The figures of each group of trials, whose notes had as many runs as any note of them.

    E: its mean. `sd of E`: the agent's inconsistency, the root of the mean variance of E over the trials of a cell,
    None without a cell of several trials. `judge's sd`: the root of the mean Var.
    """
    notes = (note for cells in groups.values() for trials in cells.values() for notes in trials for note in notes)
    runs = max((note.runs for note in notes), default=0)
    return {group: _figures(cells, runs) for group, cells in groups.items()}


def _figures(cells: Cells, runs: int) -> dict[str, OwnFigure]:
    whole = [[one for one in trials if one and all(note.runs == runs for note in one)] for trials in cells.values()]
    trials = [one for cell in whole for one in cell]
    spreads = [variance_of(map(expected, cell)) for cell in whole if len(cell) > 1]
    return {
        EXPECTED: fmean(map(expected, trials)) if trials else None,
        SPREAD: fmean(spreads) ** 0.5 if spreads else None,
        NOISE: fmean(map(variance, trials)) ** 0.5 if trials else None,
    }
