"""Wilson's interval: published values, the ends, and the equation that defines it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.judges.measures.wilson import wilson


@pytest.mark.parametrize(
    ("hits", "trials", "expected"),
    [
        pytest.param(81, 263, (0.2553, 0.3662), id="Newcombe 1998, table I, method 3"),
        pytest.param(15, 148, (0.0624, 0.1605), id="Newcombe, 15 of 148"),
        pytest.param(0, 20, (0.0, 0.1611), id="Newcombe, none of 20"),
        pytest.param(1, 29, (0.0061, 0.1718), id="Newcombe, 1 of 29"),
        pytest.param(20, 20, (0.8389, 1.0), id="all of 20"),
    ],
)
def test_published_intervals(hits: int, trials: int, expected: tuple[float, float]) -> None:
    """Newcombe, "Two-sided confidence intervals for the single proportion", 1998, score method."""
    assert wilson(hits, trials) == pytest.approx(expected, abs=0.00005)


def test_no_trials_no_interval() -> None:
    """Absent, not 0 to 1."""
    assert wilson(0, 0) is None


@pytest.mark.parametrize(("hits", "trials"), [(-1, 3), (4, 3), (1, 0)])
def test_impossible_counts_are_refused(hits: int, trials: int) -> None:
    """More hits than trials is a mistake of the caller."""
    with pytest.raises(ValueError, match="hits in"):
        wilson(hits, trials)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_bounds_solve_the_score_equation(counts: tuple[int, int]) -> None:
    """At a bound p, the share lies z standard errors of p away; the interval is in [0, 1] and mirrors with the hits."""
    hits, trials = counts
    interval = wilson(hits, trials)
    mirrored = wilson(trials - hits, trials)
    assert interval is not None
    assert mirrored is not None
    assert 0 <= interval[0] <= hits / trials <= interval[1] <= 1
    assert interval == pytest.approx((1 - mirrored[1], 1 - mirrored[0]))
    for p in interval:
        if 0 < p < 1:
            assert (hits / trials - p) ** 2 == pytest.approx(1.959963985**2 * p * (1 - p) / trials, rel=1e-6, abs=1e-12)
