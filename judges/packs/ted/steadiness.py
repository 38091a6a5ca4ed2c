"""How steadily trials achieve notes, by the share of runs that say so: z of a note, E and Var of a trial."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
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
    None without a cell of several trials. `judge's sd`: the root of the mean Var. As in all figures of trials, a task
    has the mean of its cells, and a group the mean of its tasks.
    """
    notes = (note for cells in groups.values() for trials in cells.values() for notes in trials for note in notes)
    runs = max((note.runs for note in notes), default=0)
    return {group: _figures(cells, runs) for group, cells in groups.items()}


def _figures(cells: Cells, runs: int) -> dict[str, OwnFigure]:
    tasks: defaultdict[str, list[Sequence[Sequence[ItemAnswer]]]] = defaultdict(list)
    for (task, *_), trials in cells.items():
        if whole := [one for one in trials if one and all(note.runs == runs for note in one)]:
            tasks[task].append(whole)

    def mean(of_cell: Callable[[Sequence[Sequence[ItemAnswer]]], float], least: int = 1) -> float | None:
        known = ([of_cell(cell) for cell in own if len(cell) >= least] for own in tasks.values())
        means = [fmean(one) for one in known if one]
        return fmean(means) if means else None

    spread = mean(lambda cell: variance_of(map(expected, cell)), least=2)
    noise = mean(lambda cell: fmean(map(variance, cell)))
    return {
        EXPECTED: mean(lambda cell: fmean(map(expected, cell))),
        SPREAD: None if spread is None else spread**0.5,
        NOISE: None if noise is None else noise**0.5,
    }
