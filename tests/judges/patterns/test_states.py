"""States and change points of patterns: right at known rates, and silent where nothing changed."""

from __future__ import annotations

from math import exp, sqrt
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.judges.patterns.change_points import Counted, change_point
from tracejury.judges.patterns.states import (
    History,
    Judged,
    difference_p,
    is_back,
    judge_states,
    needed_units,
)
from tracejury.schemas.queries.patterns import PatternState

DAYS, WEEK, RUNS = 35, 7, 400


def hits(random: Random, runs: int, rate: float) -> int:
    """Binomial, by Poisson where few are expected and by the normal else."""
    expected = runs * rate
    if expected > 30:
        return max(0, min(runs, round(random.gauss(expected, sqrt(expected * (1 - rate))))))
    count, product = 0, random.random()
    while product > exp(-expected):
        count, product = count + 1, product * random.random()
    return min(count, runs)


def history(counts: list[int], runs: int = RUNS) -> History:
    """Of the last five weeks, as a question on that day sees it."""
    periods = [Counted(runs, count) for count in counts[-DAYS:]]
    return History(periods, WEEK)


def changed(random: Random, before: float, after: float, *, at: int = 28) -> tuple[Judged, list[Counted]]:
    """A pattern among a hundred whose rate changes on a day."""
    counts = [hits(random, RUNS, before if day < at else after) for day in range(DAYS)]
    others = [history([hits(random, RUNS, 0.01) for _ in range(DAYS)]) for _ in range(99)]
    one = history(counts)
    return judge_states([one, *others])[0], list(one.periods)


def test_quiet_days_are_quiet() -> None:
    random, bad, days = Random(1), 0, 0  # noqa: S311
    for _ in range(4):
        rates = [10 ** random.uniform(-3.5, -1) for _ in range(100)]
        counts = [[hits(random, RUNS, rate) for _ in range(65)] for rate in rates]
        for day in range(DAYS, 65):
            states = judge_states([history(own[: day + 1]) for own in counts if any(own[: day + 1])])
            days += 1
            bad += any(one.state not in (PatternState.ONGOING, PatternState.NEW) for one in states)
    assert bad / days <= 0.05


@pytest.mark.parametrize("burst", [0.6, 0.3])
def test_bursts_are_no_change(burst: float) -> None:
    """Shares that vary from day to day, with a standard deviation of `burst` of their mean, change as little."""
    random, bad, days, shape = Random(2), 0, 120, burst**-2  # noqa: S311
    for _ in range(days):
        rates = [10 ** random.uniform(-3, -1) for _ in range(50)]
        own = [
            [hits(random, RUNS, rate * random.gammavariate(shape, 1 / shape)) for _ in range(DAYS)] for rate in rates
        ]
        states = judge_states([history(counts) for counts in own])
        bad += any(one.state not in (PatternState.ONGOING, PatternState.NEW) for one in states)
    assert bad / days <= 0.05


def test_a_change_amid_bursts_is_told() -> None:
    random, told = Random(3), 0  # noqa: S311
    for _ in range(20):
        daily = [hits(random, RUNS, (0.02, 0.08)[day >= 28] * random.gammavariate(5, 0.2)) for day in range(DAYS)]
        others = [history([hits(random, RUNS, 0.01) for _ in range(DAYS)]) for _ in range(99)]
        told += judge_states([history(daily), *others])[0].state is PatternState.MORE_FREQUENT
    assert told >= 16


def test_what_comes_in_bursts_must_be_away_for_longer() -> None:
    steady = judge_states([history([4] * 28 + [0] * 7)])[0]
    bursts = judge_states([history(([0] * 6 + [28]) * 4 + [0] * 7)])[0]
    assert steady.state is PatternState.GONE
    assert bursts.state is PatternState.ONGOING
    assert steady.needed is not None
    assert bursts.needed is not None
    assert bursts.needed > 5 * steady.needed


@pytest.mark.parametrize(
    ("before", "after", "state"),
    [
        (0.04, 0.01, PatternState.RARER),
        (0.01, 0.03, PatternState.MORE_FREQUENT),
        (0.02, 0.0, PatternState.GONE),
        (0.0, 0.01, PatternState.NEW),
        (0.02, 0.02, PatternState.ONGOING),
    ],
)
def test_a_change_of_known_size_is_told_and_dated(before: float, after: float, state: PatternState) -> None:
    found = [changed(Random(seed), before, after) for seed in range(40)]  # noqa: S311
    assert sum(judged.state is state for judged, _ in found) >= 36
    if before != after:
        points = [point for _, periods in found if (point := change_point(periods))]
        assert len(points) >= 36
        assert sum(point.first <= 28 <= point.last for point in points) >= 0.9 * len(points)
    else:
        assert sum(change_point(periods) is None for _, periods in found) >= 36


@given(st.lists(st.tuples(st.floats(0, 1_000), st.floats(0, 1)), min_size=DAYS, max_size=DAYS))
def test_any_counts_have_a_state(counts: list[tuple[float, float]]) -> None:
    """Effective numbers need not be whole, and may be as small as can be."""
    (one,) = judge_states([History([Counted(units, units * share) for units, share in counts], WEEK)])
    assert 0 <= one.p_value <= 1
    assert one.dispersion >= 1
    assert one.needed is None or one.needed >= 1


def test_what_was_gone_is_back_and_what_became_rarer_is_not() -> None:
    gone = [8] * 10 + [0] * 20 + [8] * 5
    rarer = [40] * 20 + [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1]
    assert [one.state for one in judge_states([history(gone), history(rarer)])] == [
        PatternState.BACK, PatternState.RARER,
    ]  # fmt: skip


def test_one_event_takes_nothing_back_unless_its_old_rate_makes_it_enough() -> None:
    often = Counted(1_000, 400)
    assert is_back(often, Counted(1, 1)) is False  # a tenth of 40 % is four of a hundred
    assert is_back(often, Counted(10, 3))
    assert not is_back(Counted(1_000, 40), Counted(500, 1))
    assert is_back(Counted(10_000, 1), Counted(100, 1))
    assert not is_back(Counted(0, 0), Counted(10, 10))
    assert not is_back(Counted(1_000, 0), Counted(100, 1))  # its old rate is not known: 0 of 1,000 may be 4 of them
    assert is_back(Counted(1_000, 0), Counted(100, 2))


def test_by_hand() -> None:
    # 10 of 100: Wilson's lower end is .0552; ln(.01) / ln(1 - .0552) = 81.1.
    assert needed_units(Counted(100, 10), 0.01) == 82
    assert needed_units(Counted(0, 0), 0.01) is None
    assert needed_units(Counted(10, 10), 1e-4) == 8
    # Fisher's tea: 4 of 4 against 0 of 4 has one table in 70.
    assert difference_p(Counted(4, 4), Counted(4, 0)) == pytest.approx(2 / 70)
    assert difference_p(Counted(4, 2), Counted(4, 2)) == 1.0
    assert difference_p(Counted(0, 0), Counted(4, 2)) == 1.0
    assert change_point([]) is None
    assert change_point([Counted(10, 0)] * 5) is None
    point = change_point([Counted(100, 0)] * 3 + [Counted(100, 20)] * 3)
    assert point is not None
    assert (point.at, point.first, point.last) == (3, 3, 3)
