"""Measures over sessions: by hand, by the paper's rows, and what holds for any sessions."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.judges.checks.aggregate import SessionScore, average, difference, measure_of, spread

parts = st.integers(1, 30).flatmap(lambda d: st.tuples(st.integers(0, d), st.just(d)))
scores = st.builds(
    lambda part, weight: SessionScore(part[0] / part[1], part[0], part[1], weight),
    parts,
    st.sampled_from([1.0, 1.0, 2.0, 10.0]),
)
undefined = st.just(SessionScore(None))
sessions = st.lists(scores | undefined, max_size=20)


@pytest.mark.parametrize(
    ("measures", "printed"),
    [
        ((0.80, 0.97, 0.84, 0.87, 0.46), 0.79),
        ((0.383, 0.924, 0.581, 0.777, 0.358), 0.605),
        ((0.447, 0.958, 0.663, 0.831, 0.272), 0.634),
        ((0.404, 0.953, 0.599, 0.803, 0.361), 0.624),
    ],
)
def test_average_is_that_of_the_paper(measures: tuple[float, ...], printed: float) -> None:
    digits = len(str(printed)) - 2
    found = average(measures)
    assert found is not None
    assert abs(found - printed) <= 0.5 * 10**-digits + 1e-9


def test_average_of_the_row_that_the_paper_prints_otherwise() -> None:
    """The paper prints .44 for this one of its 37 rows."""
    assert average((0.98, 0.79, 0.01, 0.48, 0.01)) == pytest.approx(0.454)


def test_average_leaves_out_what_is_not_applicable() -> None:
    assert average((1.0, None, 0.5, None)) == 0.75
    assert average((None, None)) is None


def test_mean_is_over_the_sessions_where_the_measure_is_defined() -> None:
    found = measure_of([SessionScore(1.0, 4, 4), SessionScore(0.5, 1, 2), SessionScore(None)])
    assert found is not None
    assert found.value == 0.75
    assert measure_of([SessionScore(None)]) is None
    assert measure_of([]) is None


def test_pooled_measure_sums_numerators_and_denominators() -> None:
    found = measure_of([SessionScore(1.0, 4, 4), SessionScore(0.5, 1, 2), SessionScore(None)], pooled=True)
    assert found is not None
    assert found.value == pytest.approx(5 / 6)


def test_a_session_counts_for_those_that_it_stands_for() -> None:
    found = measure_of([SessionScore(1.0, 1, 1), SessionScore(0.0, 0, 1, weight=3)])
    assert found is not None
    assert found.value == 0.25


def test_a_session_judged_by_hand_counts_for_none() -> None:
    found = measure_of([SessionScore(1.0, 1, 1), SessionScore(0.0, 0, 1, weight=0)])
    assert found is not None
    assert found.value == 1


def test_interval_of_yes_or_no_sessions_is_wilsons() -> None:
    """8 of 10: (0.490, 0.943)."""
    found = measure_of([SessionScore(float(i < 8), float(i < 8), 1) for i in range(10)])
    assert found is not None
    assert (round(found.low, 3), round(found.high, 3)) == (0.490, 0.943)


def test_interval_narrows_where_sessions_differ_little() -> None:
    close = measure_of([SessionScore(v) for v in (0.78, 0.8, 0.82) * 10])
    apart = measure_of([SessionScore(v) for v in (0.4, 1.0, 1.0) * 10])
    assert close is not None
    assert apart is not None
    assert close.high - close.low < 0.02 < apart.high - apart.low


def test_interval_of_weighted_sessions_holds_the_truth_in_95_of_100_draws() -> None:
    """Heavy sessions stand for ten; the truth is the mean of 0.7 by either kind."""
    draw = random.Random(7)  # noqa: S311  reproducible, not secret
    held = 0
    for _ in range(400):
        found = measure_of(
            SessionScore(min(1.0, draw.betavariate(3.5, 1.5)), weight=10 if draw.random() < 0.3 else 1)
            for _ in range(40)
        )
        held += found is not None and found.low <= 0.7 <= found.high
    assert 0.92 <= held / 400 <= 0.995


def test_difference_is_that_of_the_means() -> None:
    a = measure_of([SessionScore(v) for v in (0.5, 0.6, 0.55) * 10])
    b = measure_of([SessionScore(v) for v in (0.8, 0.9, 0.85) * 10])
    found = difference(a, b)
    assert found is not None
    assert found.value == pytest.approx(0.3)
    assert 0.2 < found.low < 0.3 < found.high < 0.4
    assert difference(a, None) is None


def test_spread_of_exchanges() -> None:
    found = spread([(1, 2), (1, 4), (0, 90)])
    assert found is not None
    assert (found.mean, found.deviation, found.n) == (3, 1, 2)
    weighted = spread([(3, 1), (1, 5)])
    assert weighted is not None
    assert weighted.mean == 2
    assert spread([]) is None


@pytest.mark.parametrize("pooled", [False, True])
@given(drawn=sessions, order=st.randoms(use_true_random=False))
def test_order_of_sessions_changes_nothing_and_bounds_hold(
    *, drawn: list[SessionScore], pooled: bool, order: random.Random
) -> None:
    found = measure_of(drawn, pooled=pooled)
    shuffled = list(drawn)
    order.shuffle(shuffled)
    assert measure_of(shuffled, pooled=pooled) == found
    if found is not None:
        assert 0 <= found.low <= found.value <= found.high <= 1
    assert (found is None) == all(s.value is None for s in drawn)


@pytest.mark.parametrize("pooled", [False, True])
@given(drawn=st.lists(scores, min_size=1, max_size=20), data=st.data())
def test_a_session_that_does_worse_never_raises_the_measure(
    *, drawn: list[SessionScore], pooled: bool, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(drawn) - 1))
    before = drawn[at]
    worse = max(0.0, before.numerator - 1)
    changed = [*drawn]
    changed[at] = SessionScore(worse / before.denominator, worse, before.denominator, before.weight)
    was, now = measure_of(drawn, pooled=pooled), measure_of(changed, pooled=pooled)
    assert was is not None
    assert now is not None
    assert now.value <= was.value
