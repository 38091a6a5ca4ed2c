"""Figures of tasks that were tried several times: means, Max@k, pass@k, pass^k, and paired differences."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import comb, fsum
from typing import Final

from tracejury.judges.bootstrap import intervals
from tracejury.schemas.rates import Estimate

MOST_PAIRED: Final = 1000
"""Tasks whose differences are resampled, 2 ms each with twelve figures."""


class Kind(StrEnum):
    """How a figure puts the trials of a cell together."""

    MEAN = "mean"
    MAX = "max@k"
    ANY = "pass@k"
    ALL = "pass^k"


Figure = tuple[Kind, str]
"""How trials are put together, and the measure."""
Figures = Mapping[Figure, float]
"""Those that are defined."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One session of a task. `cell`: whatever else trials have in common; `values`: the defined ones, by measure."""

    task: str
    cell: Sequence[str]
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class TrialRule:
    """`k` trials, of which those succeed whose value of the measure `success` ("": none) is at least `threshold`."""

    k: int
    success: str
    threshold: float

    def figures(self, measures: Iterable[str]) -> list[Figure]:
        """The figures that there are, in order."""
        passes = [(kind, self.success) for kind in (Kind.ANY, Kind.ALL) if self.success]
        return [(kind, measure) for measure in measures for kind in (Kind.MEAN, Kind.MAX)] + passes


@dataclass(frozen=True, slots=True)
class TaskMean:
    """A figure over the `tasks` where it is defined, None where it is in none; of a difference with its `estimate`."""

    figure: Figure
    value: float | None
    tasks: int
    estimate: Estimate | None = None


def max_at(values: Iterable[float], k: int) -> float | None:
    """Max@k: the expected largest of k of the values, drawn without replacement; None where there are fewer than k.

    With v_1 ≤ … ≤ v_N it is Σ_{i≥k} v_i · C(i-1, k-1) / C(N, k), which is pass@k where values are 0 and 1
    (Walder and Karkhanis, "Pass@K Policy Optimization", 2025).
    """
    ordered = sorted(values)
    if k > len(ordered):
        return None
    # C(i-1, k-1) / C(N, k) from the largest value down: the binomials themselves may exceed a float.
    total, share = 0.0, k / len(ordered)
    for i in range(len(ordered), k - 1, -1):
        total += share * ordered[i - 1]
        share *= (i - k) / max(1, i - 1)
    return total


def pass_at(trials: int, succeeded: int, k: int) -> float | None:
    """pass@k: the chance that one of k of the trials succeeded, 1 - C(N-c, k) / C(N, k); None where N < k.

    Chen et al., "Evaluating Large Language Models Trained on Code", 2021.
    """
    return None if k > trials else 1 - comb(trials - succeeded, k) / comb(trials, k)


def pass_all(trials: int, succeeded: int, k: int) -> float | None:
    """pass^k: the chance that all of k of the trials succeeded, C(c, k) / C(N, k); None where N < k.

    Yao et al., "τ-bench", 2024.
    """
    return None if k > trials else comb(succeeded, k) / comb(trials, k)


def by_task(trials: Iterable[Trial], rule: TrialRule) -> dict[str, dict[Figure, float]]:
    """The figures of each task: of each the mean over the task's cells where it is defined."""
    cells: defaultdict[tuple[str, tuple[str, ...]], list[Mapping[str, float]]] = defaultdict(list)
    for trial in trials:
        cells[trial.task, tuple(trial.cell)].append(trial.values)
    tasks: defaultdict[str, list[Figures]] = defaultdict(list)
    for (task, _), values in cells.items():
        tasks[task].append(_of_cell(values, rule))
    return {task: _means(own) for task, own in tasks.items()}


def over_tasks(figures: Iterable[Figure], tasks: Collection[Figures]) -> list[TaskMean]:
    """The mean of each figure over tasks."""
    means = _means(tasks)
    return [TaskMean(one, means.get(one), sum(one in task for task in tasks)) for one in figures]


def paired(figures: Iterable[Figure], a: Mapping[str, Figures], b: Mapping[str, Figures]) -> list[TaskMean]:
    """`b` less `a` over the tasks that both have, with 95 % intervals: a paired bootstrap of tasks (Efron 1979).

    Of more than `MOST_PAIRED` tasks the first by name are compared; that of a stored task is a hash.
    """
    pairs = [(a[task], b[task]) for task in sorted(a.keys() & b.keys())[:MOST_PAIRED]]
    found = []
    for one in figures:
        differences = [second[one] - first[one] for first, second in pairs if one in first and one in second]
        low, high = intervals(differences, _mean).get("", (0.0, 0.0))
        value = fsum(differences) / len(differences) if differences else None
        estimate = None if value is None else Estimate(value, low, high)
        found.append(TaskMean(one, value, len(differences), estimate))
    return found


def _of_cell(values: Sequence[Mapping[str, float]], rule: TrialRule) -> dict[Figure, float]:
    known: defaultdict[str, list[float]] = defaultdict(list)
    for trial in values:
        for measure, value in trial.items():
            known[measure].append(value)
    found: dict[Figure, float | None] = {}
    for measure, own in known.items():
        found[Kind.MEAN, measure] = fsum(own) / len(own)
        found[Kind.MAX, measure] = max_at(own, rule.k)
    said = known.get(rule.success, [])
    counts = len(said), sum(value >= rule.threshold for value in said), rule.k
    found |= {(Kind.ANY, rule.success): pass_at(*counts), (Kind.ALL, rule.success): pass_all(*counts)}
    return {one: value for one, value in found.items() if value is not None}


def _means(several: Iterable[Figures]) -> dict[Figure, float]:
    known: defaultdict[Figure, list[float]] = defaultdict(list)
    for figures in several:
        for one, value in figures.items():
            known[one].append(value)
    return {one: fsum(values) / len(values) for one, values in known.items()}


def _mean(draw: Sequence[float]) -> Mapping[str, float]:
    return {"": sum(draw) / len(draw)}
