"""Figures of tasks by the behaviour of their user."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tracejury.schemas.behaviours import Behaviour
from tracejury.schemas.checks import ItemAnswer

from .rules import Mode

IDEAL: Final = Behaviour.IDEAL.value
_COUNTED: Final = re.compile(r"(\d{1,9}) calls of (\d{1,9})\. ")


@dataclass(frozen=True, slots=True)
class TaskResult:
    """One session of a task: how its user behaved, the mode by which it failed (None: it succeeded), n and n_t."""

    behaviour: str
    mode: Mode | None
    calls: int = 0
    budget: int = 0


@dataclass(frozen=True, slots=True)
class BehaviourFigures:
    """`success`: SR_b. `drop`: of it against ideal users, negative for a gain, None where these never succeed.

    `calls`: mean of n / n_t, None without a budget. `modes`: shares of the failures.
    """

    sessions: int
    success: float
    drop: float | None
    calls: float | None
    modes: Mapping[Mode, float]


def counted(calls: int, budget: int) -> str:
    """The beginning of an oracle's reason: n calls of n_t."""
    return f"{calls} calls of {budget}. "


def task_result(behaviour: str, outcome: ItemAnswer) -> TaskResult:
    """From the first answer of `rut-oracle` about a session."""
    word = outcome.answer.replace("-", " ")
    mode = None if outcome.best else Mode(word) if word in set(Mode) else Mode.PARAMETER
    found = _COUNTED.match(outcome.reason)
    return TaskResult(behaviour, mode, *map(int, found.groups() if found else ()))


def of_session(exchanges: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """The behaviours of a session by the labels of its exchanges: ideal where none has any; () without exchanges."""
    labels = list(exchanges)
    return tuple(sorted({label for said in labels for label in said})) or (IDEAL,) * bool(labels)


def by_behaviour(results: Iterable[TaskResult]) -> dict[str, BehaviourFigures]:
    """The figures of each behaviour, ideal users first."""
    found: dict[str, list[TaskResult]] = {IDEAL: []}
    for result in results:
        found.setdefault(result.behaviour, []).append(result)
    ideal = success_rate(found[IDEAL]) or 0.0
    return {behaviour: _figures(members, ideal) for behaviour, members in found.items() if members}


def success_rate(results: Iterable[TaskResult]) -> float | None:
    """Successes of all sessions, None without any."""
    counted = [result.mode is None for result in results]
    return sum(counted) / len(counted) if counted else None


def _figures(results: list[TaskResult], ideal: float) -> BehaviourFigures:
    success = success_rate(results) or 0.0
    failed = Counter(result.mode for result in results if result.mode is not None)
    shares = [result.calls / result.budget for result in results if result.budget]
    return BehaviourFigures(
        sessions=len(results),
        success=success,
        drop=(ideal - success) / ideal if ideal else None,
        calls=sum(shares) / len(shares) if shares else None,
        modes={mode: failed[mode] / failed.total() for mode in Mode if failed[mode]},
    )
