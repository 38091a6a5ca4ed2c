"""Figures by behaviour: the arithmetic of the paper."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.judges.packs.rut.figures import TaskResult, counts, figures, success_rate, task_result
from tracejury.judges.packs.rut.rules import Mode
from tracejury.schemas.behaviours import Behaviour, behaviours_of_session
from tracejury.schemas.checks import ItemAnswer
from tracejury.schemas.queries.measures import Cells

IDEAL = Behaviour.IDEAL.value
TASKS = 234
SUCCEEDED = {
    IDEAL: 103, "contradictory": 94, "switching": 97, "overload": 90, "underspecified": 58, "impatient": 87,
    "fabricated": 83,
}  # fmt: skip


def outcome(mode: Mode | None, calls: int = 0, budget: int = 0) -> tuple[ItemAnswer, ...]:
    """The items of a session of a task."""
    word = mode.value.replace(" ", "-") if mode else "success"
    return ItemAnswer("Success", word, best=mode is None), *counts(calls, budget)


def groups(succeeded: dict[str, int], tasks: int = TASKS) -> dict[str, Cells]:
    return {
        b: {(f"t{n}",): [outcome(None if n < s else Mode.PARTIAL)] for n in range(tasks)} for b, s in succeeded.items()
    }


def drops(succeeded: dict[str, int]) -> list[object]:
    return [one["drop"] for one in figures(groups(succeeded)).values()]


def test_the_drops_and_the_rate_of_the_paper() -> None:
    assert drops(SUCCEEDED) == pytest.approx([0, 0.087, 0.058, 0.126, 0.437, 0.155, 0.194], abs=5e-4)
    every = [task_result(items) for cells in groups(SUCCEEDED).values() for (items,) in cells.values()]
    assert success_rate(every) == pytest.approx(612 / 1638)


def test_a_negative_drop_is_a_gain() -> None:
    succeeded = dict(zip(SUCCEEDED, (3, 4, 3, 3, 1, 4, 3), strict=True))
    assert drops(succeeded) == pytest.approx([0, -1 / 3, 0, 0, 2 / 3, -1 / 3, 0])


@pytest.mark.parametrize("succeeded", [{IDEAL: 0, "impatient": 3}, {"impatient": 3}])
def test_without_successes_of_ideal_users_there_is_no_drop(succeeded: dict[str, int]) -> None:
    assert drops(succeeded)[-1] is None


def test_calls_are_counted_by_the_budget_and_modes_among_failures() -> None:
    some = [
        outcome(None, 6, 3),
        outcome(Mode.SEQUENCE, 3, 3),
        outcome(Mode.PARTIAL, 5, 0),
        outcome(Mode.PARTIAL, 0, 3),
        outcome(Mode.PARTIAL)[:1],
    ]
    found = {"drop": 0, "calls": pytest.approx(1), "modes": {"partial completion": 0.75, "incorrect sequence": 0.25}}
    assert figures({IDEAL: {("t",): some}}) == {IDEAL: found}


@given(st.lists(st.lists(st.sampled_from([b for b in Behaviour if b != IDEAL]), max_size=2)), st.randoms())
def test_a_session_is_ideal_where_no_exchange_has_a_label(exchanges: list[list[str]], chance: random.Random) -> None:
    """Else it has each label once, whatever the order; without exchanges nobody said anything."""
    found = behaviours_of_session(exchanges)
    labels = {label for said in exchanges for label in said}
    assert set(found) == (labels or ({IDEAL} if exchanges else set()))
    assert len(found) == len(set(found))
    assert behaviours_of_session(chance.sample(exchanges, len(exchanges))) == found


@given(st.sampled_from([None, *Mode]), st.integers(0, 10**6), st.integers(0, 10**6), st.text(), st.booleans())
def test_a_result_is_what_the_oracle_says(mode: Mode | None, calls: int, budget: int, told: str, old: bool) -> None:  # noqa: FBT001
    """By its items, whatever its reason says; of a verdict of version 1 by the beginning of the reason."""
    first, *numbers = outcome(mode, calls, budget)
    broken = ItemAnswer("Success", "unauthorised-tool", best=False, reason="1 calls of 1. ")
    reason = f"{calls} calls of {budget}. {told}" if old else told
    items = replace(first, reason=reason), broken, *(() if old else numbers)
    assert task_result(items) == TaskResult(mode, calls, budget)


@pytest.mark.parametrize("reason", ["", "It succeeded. 3 calls of 3.", f"{'9' * 10} calls of 1. ", "-1 calls of 2. "])
def test_without_counts_there_are_none(reason: str) -> None:
    left = ItemAnswer("Success", "other-failure", best=False, reason=reason)
    assert task_result([left]) == TaskResult(Mode.PARAMETER)
