"""Figures of trials: by hand, against all subsets, and over tasks."""

from __future__ import annotations

from itertools import combinations
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.judges.measures.trials import (
    Figure,
    Kind,
    TaskMean,
    Trial,
    TrialRule,
    by_task,
    max_at,
    over_tasks,
    paired,
    pass_all,
    pass_at,
)

RULE = TrialRule(2, "R", 1.0)
SHARES = st.floats(0, 1)


def test_figures_by_hand() -> None:
    assert [max_at([0.4, 1, 0.2, 0.6, 0.4], k) for k in range(1, 6)] == pytest.approx([0.52, 0.70, 0.82, 0.92, 1.0])
    assert [pass_at(5, 2, 2), pass_all(5, 2, 2)] == pytest.approx([0.7, 0.1])
    assert [max_at([1.0], 2), pass_at(1, 1, 2), pass_all(1, 1, 2)] == [None, None, None]


@given(st.lists(SHARES, min_size=1, max_size=7), st.data())
def test_max_at_k_is_the_mean_of_the_maxima_of_all_subsets(values: list[float], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(values)))
    assert max_at(values, k) == pytest.approx(fmean(max(some) for some in combinations(values, k)))


@given(st.lists(st.booleans(), min_size=1, max_size=200), st.data())
def test_passes_are_ordered(outcomes: list[bool], data: st.DataObject) -> None:
    """All of k succeed at most as often as one of one, and that at most as one of k, which Max@k of 0 and 1 is."""
    n, c, k = len(outcomes), sum(outcomes), data.draw(st.integers(1, len(outcomes)))
    every, single, one = pass_all(n, c, k), pass_at(n, c, 1), pass_at(n, c, k)
    assert every is not None
    assert single is not None
    assert one is not None
    assert 0 <= every <= single + 1e-12 <= one + 2e-12
    assert max_at(map(float, outcomes), k) == pytest.approx(one)


@pytest.mark.parametrize(("k", "one", "every", "tasks"), [(2, 0.85, 0.55, 2), (3, 0.9, 0.0, 1)])
def test_a_row_has_the_mean_of_its_tasks(k: int, one: float, every: float, tasks: int) -> None:
    """Of five trials two succeed, and of another task's two both; k of 3 is over the first task alone."""
    values = {"a": [0.0, 0.0, 0.0, 1.0, 1.0], "b": [1.0, 1.0]}
    trials = [Trial(task, ("v1",), {"R": value}) for task, own in values.items() for value in own]
    rows = over_tasks([(Kind.ANY, "R"), (Kind.ALL, "R")], by_task(trials, TrialRule(k, "R", 1.0)).values())
    assert [row.value for row in rows] == pytest.approx([one, every])
    assert [row.tasks for row in rows] == [tasks, tasks]


def test_max_at_k_of_many_trials() -> None:
    """The binomials of 10,000 trials are beyond floats."""
    assert max_at([0.5] * 10_000, 5_000) == pytest.approx(0.5)


def test_a_task_has_the_mean_of_its_cells() -> None:
    """However many trials each has; a cell of too few has a mean alone, and a measure without values nothing."""
    trials = [Trial("a", ("v1",), {"R": value, "S": 0.5}) for value in (0.0, 0.0, 0.9, 1.0)]
    trials += [Trial("a", ("v2",), {"R": 1.0})]
    tasks = by_task([*trials, Trial("b", ("v1",), {})], RULE)
    assert tasks["a"] == pytest.approx(
        {
            (Kind.MEAN, "R"): (1.9 / 4 + 1) / 2, (Kind.MEAN, "S"): 0.5, (Kind.MAX, "S"): 0.5,
            (Kind.MAX, "R"): (0.9 * 2 + 1.0 * 3) / 6, (Kind.ANY, "R"): 0.5, (Kind.ALL, "R"): 0.0,
        }
    )  # fmt: skip
    assert tasks["b"] == {}
    assert by_task(trials, TrialRule(2, "R", 0.9))["a"][Kind.ALL, "R"] == pytest.approx(1 / 6)
    rows = over_tasks([*RULE.figures(["R"]), (Kind.MEAN, "T")], tasks.values())
    assert [(one.figure, one.tasks) for one in rows] == [
        ((Kind.MEAN, "R"), 1), ((Kind.MAX, "R"), 1), ((Kind.ANY, "R"), 1), ((Kind.ALL, "R"), 1), ((Kind.MEAN, "T"), 0),
    ]  # fmt: skip
    assert rows[-1].value is None


FIGURE: Figure = (Kind.MEAN, "R")


@given(st.lists(st.tuples(SHARES, SHARES), min_size=1, max_size=12))
def test_differences_are_of_pairs(values: list[tuple[float, float]]) -> None:
    """An equal shift of all tasks is certain, however much tasks differ; a task of one side alone counts nowhere."""
    a = {str(n): {FIGURE: first} for n, (first, _) in enumerate(values)}
    b = {str(n): {FIGURE: second} for n, (_, second) in enumerate(values)} | {"alone": {FIGURE: 1.0}}
    (found,) = paired([FIGURE], a, b)
    assert found.estimate is not None
    assert found.tasks == len(values)
    assert found.estimate.low - 1e-9 <= fmean(s - f for f, s in values) <= found.estimate.high + 1e-9
    (same,) = paired([FIGURE], a, {task: {FIGURE: own[FIGURE] + 0.25} for task, own in a.items()})
    assert same.estimate is not None
    assert (same.estimate.low, same.value, same.estimate.high) == pytest.approx((0.25, 0.25, 0.25))


def test_without_pairs_there_is_no_difference() -> None:
    assert paired([FIGURE], {"a": {FIGURE: 1.0}}, {"b": {FIGURE: 1.0}, "a": {}}) == [TaskMean(FIGURE, None, 0)]
