"""Pearson and Spearman: the standard library's answers, ties, and where they are undefined."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tracejury.judges.measures.correlation import pearson, ranks, spearman

PAIRS = st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=2, max_size=40)


@given(PAIRS)
def test_both_equal_the_standard_library(pairs: list[tuple[int, int]]) -> None:
    """`statistics.correlation`, linear and ranked, wherever that is defined."""
    xs, ys = ([float(v) for v in side] for side in zip(*pairs, strict=True))
    assume(len(set(xs)) > 1)
    assume(len(set(ys)) > 1)
    assert pearson(xs, ys) == pytest.approx(statistics.correlation(xs, ys), abs=1e-9)
    assert spearman(xs, ys) == pytest.approx(statistics.correlation(ranks(xs), ranks(ys)), abs=1e-9)


def test_spearman_of_the_textbook() -> None:
    """IQ and hours of television of ten people: -29/165 = -0.1758."""
    iq = [106, 100, 86, 101, 99, 103, 97, 113, 112, 110]
    hours = [7, 27, 2, 50, 28, 29, 20, 12, 6, 17]
    assert spearman(iq, hours) == pytest.approx(-29 / 165)


def test_ties_share_their_mean_rank() -> None:
    """Two at places 2 and 3 both have 2.5."""
    assert ranks([10, 20, 20, 5]) == [2, 3.5, 3.5, 1]
    assert ranks([]) == []


@pytest.mark.parametrize(
    ("xs", "ys"), [([], []), ([1], [2]), ([2, 2, 2], [0, 1, 2]), ([0, 1], [3, 3]), ([0.1] * 3, [0.1, 0.2, 0.3])]
)
def test_undefined_where_a_side_does_not_vary(xs: list[float], ys: list[float]) -> None:
    """None, not 0 and not an error: a judge that always says 2 correlates with nothing."""
    assert pearson(xs, ys) is None
    assert spearman(xs, ys) is None


def test_monotone_is_perfect_for_ranks_only() -> None:
    """Spearman sees order, Pearson distances."""
    xs, ys = [0, 1, 2, 3], [0, 1, 8, 27]
    assert spearman(xs, ys) == pytest.approx(1)
    linear = pearson(xs, ys)
    assert linear is not None
    assert 0.9 < linear < 0.95


def test_sides_of_two_lengths_are_refused() -> None:
    """Pairs are what is correlated."""
    with pytest.raises(ValueError, match="2 scores beside 1"):
        pearson([1, 2], [1])
