"""Figures by behaviour: the arithmetic of the paper."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.judges.packs.rut.figures import (
    IDEAL,
    TaskResult,
    by_behaviour,
    counted,
    of_session,
    success_rate,
    task_result,
)
from tracejury.judges.packs.rut.rules import Mode
from tracejury.schemas.behaviours import Behaviour
from tracejury.schemas.checks import ItemAnswer

TASKS = 234
SUCCEEDED = {
    IDEAL: 103, "contradictory": 94, "switching": 97, "overload": 90, "underspecified": 58, "impatient": 87,
    "fabricated": 83,
}  # fmt: skip


def results(succeeded: dict[str, int], tasks: int = TASKS) -> list[TaskResult]:
    return [TaskResult(b, None if n < s else Mode.PARTIAL) for b, s in succeeded.items() for n in range(tasks)]


def test_the_rates_and_drops_of_the_paper() -> None:
    found = by_behaviour(results(SUCCEEDED))
    assert [round(one.success, 3) for one in found.values()] == [0.440, 0.402, 0.415, 0.385, 0.248, 0.372, 0.355]
    assert [round(one.drop or 0, 3) for one in found.values()] == [0, 0.087, 0.058, 0.126, 0.437, 0.155, 0.194]
    assert success_rate(results(SUCCEEDED)) == pytest.approx(612 / 1638)


def test_a_negative_drop_is_a_gain() -> None:
    succeeded = dict(zip(SUCCEEDED, (3, 4, 3, 3, 1, 4, 3), strict=True))
    assert [one.drop for one in by_behaviour(results(succeeded)).values()] == pytest.approx(
        [0, -1 / 3, 0, 0, 2 / 3, -1 / 3, 0]
    )


def test_without_successes_of_ideal_users_there_is_no_drop() -> None:
    assert by_behaviour(results({IDEAL: 0, "impatient": 3}))["impatient"].drop is None
    assert by_behaviour(results({"impatient": 3}))["impatient"].drop is None
    assert by_behaviour([]) == {}
    assert success_rate([]) is None


def test_calls_are_counted_by_the_budget_and_modes_among_failures() -> None:
    some = [
        TaskResult(IDEAL, None, 6, 3),
        TaskResult(IDEAL, Mode.SEQUENCE, 3, 3),
        TaskResult(IDEAL, Mode.PARTIAL, 5, 0),
        TaskResult(IDEAL, Mode.PARTIAL, 0, 3),
        TaskResult(IDEAL, Mode.PARTIAL),
    ]
    one = by_behaviour(some)[IDEAL]
    assert one.calls == pytest.approx(1)
    assert one.modes == {Mode.PARTIAL: 0.75, Mode.SEQUENCE: 0.25}
    assert (one.sessions, one.success) == (5, 0.2)


@given(st.lists(st.lists(st.sampled_from([b for b in Behaviour if b != IDEAL]), max_size=2)), st.randoms())
def test_a_session_is_ideal_where_no_exchange_has_a_label(exchanges: list[list[str]], chance: random.Random) -> None:
    """Else it has each label once, whatever the order; without exchanges nobody said anything."""
    found = of_session(exchanges)
    labels = {label for said in exchanges for label in said}
    assert set(found) == (labels or ({IDEAL} if exchanges else set()))
    assert len(found) == len(set(found))
    assert of_session(chance.sample(exchanges, len(exchanges))) == found


@given(st.sampled_from([None, *Mode]), st.integers(0, 10**6), st.integers(0, 10**6), st.text())
def test_a_result_is_what_the_oracle_says(mode: Mode | None, calls: int, budget: int, told: str) -> None:
    """The counts are ours, whatever a tool's name puts behind them."""
    word = mode.value.replace(" ", "-") if mode else "success"
    outcome = ItemAnswer("Success", word, best=mode is None, reason=counted(calls, budget) + told)
    assert task_result("b", outcome) == TaskResult("b", mode, calls, budget)


@pytest.mark.parametrize("reason", ["", "It succeeded. 3 calls of 3.", f"{'9' * 10} calls of 1. ", "-1 calls of 2. "])
def test_without_counts_there_are_none(reason: str) -> None:
    left = ItemAnswer("Success", "other-failure", best=False, reason=reason)
    assert task_result("b", left) == TaskResult("b", Mode.PARAMETER)
