"""Figures of tasks by the behaviour of their user."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from .rules import Mode

IDEAL: Final = "ideal"


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
