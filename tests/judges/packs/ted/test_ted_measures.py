"""Progress, AUC and PPT by hand, and what holds for any session of notes that are achieved one after another."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.judges.packs.ted.measures import FORMULAS, area, progress, progress_per_turn, valid
from tracejury.judges.packs.ted.steadiness import expected, figures, variance
from tracejury.schemas.checks import ItemAnswer
from tracejury.schemas.queries.measures import Cells

Entries = list[list[ItemAnswer]]


def entries(achieved: Sequence[int], notes: int) -> Entries:
    """After each exchange the answers to so many notes, the first of which are achieved."""
    return [[ItemAnswer(f"n{n}", "", best=n < count) for n in range(notes)] for count in achieved]


@pytest.mark.parametrize(
    ("achieved", "notes", "made", "auc", "ppt"),
    [
        ([3] * 4 + [4] * 4, 4, 1, 0.875, 0.2),
        ([0, 1, 1, 1, 4, 4, 4, 4], 4, 1, 0.607, 0.2),
        ([1] * 15, 1, 1, 1, 1),
        ([0] + [1] * 14, 1, 1, 0.964, 0.5),
        ([1, 1, 2, 2], 3, 2 / 3, 0.5, 0.222),
        ([1], 2, 0.5, 0.5, 0.5),
        ([0] * 3, 2, 0, 0, 0),
    ],
)
def test_by_hand(achieved: Sequence[int], notes: int, made: float, auc: float, ppt: float) -> None:
    said = entries(achieved, notes)
    found = [formula(said).value for formula in (progress, area, progress_per_turn)]
    assert found == pytest.approx([made, auc, ppt], abs=5e-4)


@pytest.mark.parametrize("formula", FORMULAS.values())
@pytest.mark.parametrize("said", [[], [[]], [[], []]])
def test_without_notes_a_measure_is_not_applicable(formula: object, said: Entries) -> None:
    assert callable(formula)
    assert formula(said).value is None


def test_an_exchange_without_an_answer_keeps_what_was_before() -> None:
    """None at the start is 0."""
    said = entries([0, 1, 1, 2], 3)
    assert area([[], said[1], [], said[3]]) == area(said)


def test_one_error_makes_a_user_invalid() -> None:
    assert [valid([[ItemAnswer(n, "", best=n in kept) for n in "abc"]]).value for kept in ("abc", "ab", "")] == [
        1,
        0,
        0,
    ]


CHATS = st.integers(1, 6).flatmap(
    lambda notes: st.tuples(st.just(notes), st.lists(st.integers(0, notes), min_size=1, max_size=20).map(sorted))
)


@given(CHATS, st.randoms(use_true_random=False))
def test_what_holds_for_all_sessions(chat: tuple[int, list[int]], order: random.Random) -> None:
    """Bounds; a session that is never behind has no less area; the order of gains before the last does not count."""
    notes, achieved = chat
    made, auc, ppt = (f(entries(achieved, notes)).value or 0.0 for f in (progress, area, progress_per_turn))
    assert 0 <= auc <= made + 1e-12
    assert 0 <= ppt <= made <= 1
    ahead = [order.randint(count, notes) for count in achieved]
    ahead = [max(ahead[: at + 1]) for at in range(len(ahead))]
    assert (area(entries(ahead, notes)).value or 0.0) >= auc - 1e-12
    reached = achieved.index(achieved[-1])
    earlier = [count - before for before, count in zip([0, *achieved], achieved[:reached], strict=False)]
    order.shuffle(earlier)
    moved = [sum(earlier[: at + 1]) for at in range(reached)] + achieved[reached:]
    assert progress_per_turn(entries(moved, notes)).value == ppt


def trial(*yes: int, runs: int = 5) -> list[ItemAnswer]:
    return [ItemAnswer(f"n{n}", "", best=2 * one > runs, yes=one, runs=runs) for n, one in enumerate(yes)]


def test_steadiness_by_hand() -> None:
    assert expected(trial(5, 3, 0)) == pytest.approx(0.5333, abs=5e-5)
    assert variance(trial(5, 3, 0)) == pytest.approx(0.02667, abs=5e-6)
    assert variance(trial(5, 3, 0)) ** 0.5 == pytest.approx(0.163, abs=5e-4)
    single = [ItemAnswer("a", "yes", best=True), ItemAnswer("b", "no", best=False)]
    assert (expected(single), variance(single)) == (0.5, 0)


def test_the_spread_over_trials_is_the_agents_and_that_of_runs_the_judges() -> None:
    """Within cells; a trial with fewer runs is left out. A task has the mean of its cells, a row that of its tasks."""
    expert: Cells = {
        ("t", "1"): [trial(5, 5), trial(5, 0), trial(3, 3, runs=3)],
        ("t", "2"): [trial(0, 0)],
        ("u", "1"): [trial(5, 5)] * 3,
    }
    found = figures({"expert": expert, "vague": {("t", "1"): [trial(5, 3)]}, "": {}})
    assert found["expert"] == {"E": (0.375 + 1) / 2, "sd of E": pytest.approx(0.0625**0.5), "judge's sd": 0}
    assert found["vague"] == {"E": 0.8, "sd of E": None, "judge's sd": pytest.approx((0.24 / 4) ** 0.5)}
    assert found[""] == {"E": None, "sd of E": None, "judge's sd": None}
