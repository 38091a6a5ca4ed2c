"""Student's t and Poisson bounds against printed tables."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.judges.measures.distributions import beta_share, poisson_bounds, t_quantile


@pytest.mark.parametrize(
    ("share", "freedom", "expected"),
    [
        (0.975, 1, 12.706),
        (0.975, 2, 4.303),
        (0.975, 5, 2.571),
        (0.975, 9, 2.262),
        (0.975, 10, 2.228),
        (0.975, 30, 2.042),
        (0.975, 120, 1.980),
        (0.95, 4, 2.132),
        (0.995, 12, 3.055),
        (0.025, 5, -2.571),
    ],
)
def test_quantiles_of_t_are_those_of_the_tables(share: float, freedom: float, expected: float) -> None:
    """As printed to three digits in any table of Student's t."""
    assert t_quantile(share, freedom) == pytest.approx(expected, abs=0.0006)


@given(st.floats(1, 500), st.floats(0.55, 0.999))
def test_tail_and_quantile_are_inverse(freedom: float, share: float) -> None:
    """Beyond the quantile, on both sides, lies what the share leaves."""
    t = t_quantile(share, freedom)
    assert beta_share(freedom / 2, 0.5, freedom / (freedom + t * t)) == pytest.approx(2 * (1 - share), abs=2e-4)


@pytest.mark.parametrize(("a", "b", "x", "expected"), [(1, 1, 0.3, 0.3), (2, 1, 0.5, 0.25), (2, 3, 0.4, 0.5248)])
def test_incomplete_beta_where_it_is_a_polynomial(a: float, b: float, x: float, expected: float) -> None:
    """I_x(1, 1) = x, I_x(2, 1) = x², I_x(2, 3) = 6x² - 8x³ + 3x⁴."""
    assert beta_share(a, b, x) == pytest.approx(expected)
    assert beta_share(b, a, 1 - x) == pytest.approx(1 - expected)


def test_the_quantile_of_many_degrees_is_that_of_the_normal() -> None:
    """1.96 standard errors leave 5 %."""
    assert t_quantile(0.975, inf) == pytest.approx(1.959964, abs=1e-5)


@pytest.mark.parametrize(
    ("count", "low", "high"), [(1, 0.0253, 5.572), (3, 0.6187, 8.767), (10, 4.795, 18.39), (100, 81.36, 121.63)]
)
def test_poisson_bounds_are_near_the_exact_ones(count: float, low: float, high: float) -> None:
    """Garwood's exact limits of a Poisson mean; the approximation keeps below the low one."""
    found = poisson_bounds(count)
    assert found[0] == pytest.approx(low, abs=0.017)
    assert found[0] <= low * 1.001
    assert found[1] == pytest.approx(high, rel=0.003)


def test_none_seen_is_bounded_by_the_rule_of_three() -> None:
    """Nothing below; above, 3.7 at 97.5 % and 3.0 at 95 %."""
    assert poisson_bounds(0) == pytest.approx((0.0, 3.689), abs=0.03)
    assert poisson_bounds(0, level=0.9)[1] == pytest.approx(2.996, abs=0.03)


@given(st.floats(0, 1e5), st.floats(0, 1e5))
def test_bounds_enclose_the_count_and_rise_with_it(first: float, second: float) -> None:
    """More seen, no lower bound on either side."""
    few, many = sorted((first, second))
    assert poisson_bounds(few)[0] <= few <= poisson_bounds(few)[1]
    assert all(a <= b + 1e-9 for a, b in zip(poisson_bounds(few), poisson_bounds(many), strict=True))
