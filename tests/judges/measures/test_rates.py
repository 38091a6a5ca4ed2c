"""Rates from sums: known values, the ends, what weights and clusters do to them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rate_sums import Cluster, sums

from tracejury.judges.measures.rates import effective, mean, mean_difference, share, share_difference
from tracejury.judges.measures.wilson import wilson
from tracejury.schemas.rates import Sums

clusters = st.builds(
    lambda w, t, b, y: Cluster(w, min(b, t), min(b, t) + (y if min(b, t) else 0), t),
    st.floats(0.5, 100),
    st.integers(1, 5),
    st.integers(0, 5),
    st.integers(0, 9),
)


def runs(failed: int, of: int, weight: float = 1.0, errors: int = 1) -> list[Cluster]:
    """`failed` of so many runs, with so many errors each."""
    return [Cluster(weight, 1, errors)] * failed + [Cluster(weight, 0, 0)] * (of - failed)


def test_nothing_judged_is_no_rate() -> None:
    """Not 0 %: absent."""
    none, some = Sums(), sums(runs(1, 5))
    assert effective(none) == 0
    assert share(none) is None
    assert mean(none) is None
    assert share_difference(none, some) is None
    assert share_difference(some, none) is None
    assert mean_difference(none, some) is None


@pytest.mark.parametrize(("failed", "of"), [(0, 20), (1, 29), (15, 148), (81, 263), (20, 20)])
@pytest.mark.parametrize("weight", [1.0, 10.0, 1 / 3])
def test_equal_weights_give_exactly_wilsons_interval(failed: int, of: int, weight: float) -> None:
    """Whatever the weight is, as long as all runs have the same."""
    judged = sums(runs(failed, of, weight))
    found = share(judged)
    assert found is not None
    assert effective(judged) == of
    assert found.value == pytest.approx(failed / of)
    assert (found.low, found.high) == pytest.approx(wilson(failed, of))


def test_weights_shift_the_share_and_widen_its_interval() -> None:
    """90 runs that stand for ten each, 9 of them with errors, and 100 that stand for themselves, 60 with errors."""
    judged = sums(runs(9, 90, 10.0) + runs(60, 100))
    found = share(judged)
    assert found is not None
    assert found.value == pytest.approx((90 + 60) / (900 + 100))
    assert effective(judged) < 190 / 1.3


def test_turns_that_fail_together_count_as_their_runs() -> None:
    """Ten turns a run, all with errors or none: as good as one turn a run, less the price of few runs."""
    judged = sums([Cluster(1, 10, 10, 10)] * 30 + [Cluster(1, 0, 0, 10)] * 70)
    assert 80 < effective(judged) < 100


def test_turns_that_fail_each_for_itself_count_one_by_one() -> None:
    """A run's turns that tell nothing of each other: nearly as many independent ones as there are turns."""
    spread = [Cluster(1, b, b, 10) for b in [3] * 27 + [2] * 23 + [4] * 20 + [1] * 12 + [5] * 10 + [0] * 3 + [6] * 5]
    assert 600 < effective(sums(spread)) <= 1000


def test_mean_of_no_error_is_bounded_as_a_poisson_count() -> None:
    """The rule of three, at 97.5 %: 3.7 errors among all runs; the low end is 0."""
    found = mean(sums(runs(0, 100)))
    assert found is not None
    assert (found.value, found.low) == (0, 0)
    assert found.high == pytest.approx(0.037, abs=0.0005)


def test_mean_of_errors_that_come_together_is_less_certain() -> None:
    """60 errors in 60 runs tell more than 60 in 6."""
    apart, together = mean(sums(runs(60, 600))), mean(sums(runs(6, 600, errors=10)))
    assert apart is not None
    assert together is not None
    assert apart.value == together.value == pytest.approx(0.1)
    assert together.high - together.low > 2 * (apart.high - apart.low)


@pytest.mark.parametrize(
    ("a", "b", "difference"),
    [
        pytest.param((48, 80), (56, 70), (0.0524, 0.3339), id="Newcombe 1998, table II, (a)"),
        pytest.param((3, 10), (9, 10), (0.1705, 0.8090), id="(b)"),
        pytest.param((2, 7), (6, 7), (0.0582, 0.8062), id="(c)"),
        pytest.param((0, 29), (5, 56), (-0.0381, 0.1926), id="(d)"),
        pytest.param((0, 20), (0, 10), (-0.1611, 0.2775), id="(e)"),
        pytest.param((0, 20), (10, 10), (0.6791, 1.0), id="(g)"),
    ],
)
def test_differences_of_equal_weights_are_newcombes(
    a: tuple[int, int], b: tuple[int, int], difference: tuple[float, float]
) -> None:
    """Newcombe, "Interval estimation for the difference between independent proportions", 1998, method 10."""
    found = share_difference(sums(runs(*a)), sums(runs(*b)))
    assert found is not None
    assert (found[0].low, found[0].high) == pytest.approx(difference, abs=0.0001)


def test_score_test_is_the_square_root_of_pearsons() -> None:
    """χ² of the table 48/80 against 56/70 without correction is 6.99, one degree of freedom."""
    found = share_difference(sums(runs(48, 80)), sums(runs(56, 70)))
    assert found is not None
    assert found[1] == pytest.approx(0.0082, abs=0.0002)


def test_two_sets_without_any_error_do_not_differ() -> None:
    """The p-value is 1, the interval lies about 0."""
    none, more = sums(runs(0, 50)), sums(runs(0, 80))
    for found in (share_difference(none, more), mean_difference(none, more)):
        assert found is not None
        estimate, p_value = found
        assert p_value == 1
        assert estimate.low < 0 == estimate.value < estimate.high


@given(st.lists(clusters, min_size=1, max_size=30))
def test_figures_are_in_range_whatever_the_sums(drawn: list[Cluster]) -> None:
    """Low <= value <= high, shares in 0..1, means not below 0, sizes above 0; of equal weights at most the units."""
    judged = sums(drawn)
    rate, errors = share(judged), mean(judged)
    assert rate is not None
    assert errors is not None
    assert 0 <= rate.low <= rate.value <= rate.high <= 1
    assert 0 <= errors.low <= errors.value * (1 + 1e-9) <= errors.high * (1 + 1e-9)
    assert effective(judged) > 0
    if len({c.weight for c in drawn}) == 1:
        assert effective(judged) <= judged.units * (1 + 1e-9)


@given(st.lists(clusters, min_size=1, max_size=20), st.lists(clusters, min_size=1, max_size=20))
def test_differences_mirror(first: list[Cluster], second: list[Cluster]) -> None:
    """Of b - a and a - b one is the other's negative, the p-value is the same and in 0..1."""
    a, b = sums(first), sums(second)
    for difference in (share_difference, mean_difference):
        there, back = difference(a, b), difference(b, a)
        assert there is not None
        assert back is not None
        assert there[0].value == pytest.approx(-back[0].value)
        assert (there[0].low, there[0].high) == pytest.approx((-back[0].high, -back[0].low))
        assert there[1] == pytest.approx(back[1])
        assert 0 <= there[1] <= 1


@given(st.lists(clusters, min_size=1, max_size=20), st.floats(0.1, 10))
def test_scaling_all_weights_changes_nothing(drawn: list[Cluster], by: float) -> None:
    """Weights matter to each other only."""
    one, other = sums(drawn), sums(c._replace(weight=c.weight * by) for c in drawn)
    for figure in (share, mean):
        a, b = figure(one), figure(other)
        assert a is not None
        assert b is not None
        assert (a.value, a.low, a.high) == pytest.approx((b.value, b.low, b.high), rel=1e-6, abs=1e-9)
