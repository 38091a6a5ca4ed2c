"""Figures of tasks with an oracle, by group of sessions: calls, modes of failure, drop against ideal users."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tracejury.schemas.behaviours import Behaviour
from tracejury.schemas.checks import ItemAnswer
from tracejury.schemas.queries.measures import Cells, OwnFigure

from .rules import Mode

CALLS: Final = "calls"
BUDGET: Final = "calls that the task takes"
"""Items behind the outcome, whose answers are n and n_t."""
_TOLD_BY_VERSION_1: Final = re.compile(r"(\d{1,9}) calls of (\d{1,9})\. ")


@dataclass(frozen=True, slots=True)
class TaskResult:
    """One session of a task: the mode by which it failed (None: it succeeded), n and n_t (0: not known)."""

    mode: Mode | None
    calls: int = 0
    budget: int = 0


def counts(calls: int, budget: int) -> tuple[ItemAnswer, ItemAnswer]:
    """The items of n and n_t."""
    return ItemAnswer(CALLS, str(calls), best=True), ItemAnswer(BUDGET, str(budget), best=True)


def task_result(items: Sequence[ItemAnswer]) -> TaskResult:
    """From the items of `rut-oracle` about a session, of which the first is the outcome."""
    outcome, said = items[0], {one.item: one.answer for one in items[1:]}
    word = outcome.answer.replace("-", " ")
    mode = None if outcome.best else Mode(word) if word in set(Mode) else Mode.PARAMETER
    if CALLS in said and BUDGET in said:
        return TaskResult(mode, int(said[CALLS]), int(said[BUDGET]))
    told = _TOLD_BY_VERSION_1.match(outcome.reason)
    return TaskResult(mode, *map(int, told.groups() if told else ()))


def figures(groups: Mapping[str, Cells]) -> dict[str, dict[str, OwnFigure]]:
    """The figures of each group.

    `drop`: of the success rate against that of the group `ideal`, negative for a gain, None where that is 0 or unknown.
    `calls`: mean of n / n_t, None without a budget. `modes`: shares of the failures.
    """
    results = {
        group: [task_result(items) for trials in cells.values() for items in trials if items]
        for group, cells in groups.items()
    }
    ideal = success_rate(results.get(Behaviour.IDEAL.value, ()))
    return {group: _figures(members, ideal) for group, members in results.items()}


def success_rate(results: Iterable[TaskResult]) -> float | None:
    """Successes of all sessions, None without any."""
    succeeded = [result.mode is None for result in results]
    return sum(succeeded) / len(succeeded) if succeeded else None


def _figures(results: list[TaskResult], ideal: float | None) -> dict[str, OwnFigure]:
    success = success_rate(results)
    failed = Counter(result.mode for result in results if result.mode is not None)
    shares = [result.calls / result.budget for result in results if result.budget]
    return {
        "drop": (ideal - success) / ideal if ideal and success is not None else None,
        "calls": sum(shares) / len(shares) if shares else None,
        "modes": {mode.value: failed[mode] / failed.total() for mode in Mode if failed[mode]},
    }
