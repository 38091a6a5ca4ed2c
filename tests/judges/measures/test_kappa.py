"""Cohen's kappa on published tables, with its interval, and where it is undefined."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.judges.measures.kappa import cohen_kappa, kappa_of_table, matcher_kappa
from tracejury.judges.measures.matching import Match

FLEISS = {
    ("psychotic", "psychotic"): 75, ("psychotic", "neurotic"): 1, ("psychotic", "organic"): 4,
    ("neurotic", "psychotic"): 5, ("neurotic", "neurotic"): 4, ("neurotic", "organic"): 1,
    ("organic", "organic"): 10,
}  # fmt: skip
"""Diagnoses of 100 people: Fleiss, Levin and Paik, Statistical Methods for Rates and Proportions, table 18.1."""


def test_the_published_table_has_the_published_kappa_and_interval() -> None:
    """Kappa .68, with standard error .087 from .51 to .85; agreement .89, by chance .66."""
    result = kappa_of_table(FLEISS)
    assert result.kappa == pytest.approx(0.676, abs=0.0005)
    assert result.interval == pytest.approx((0.51, 0.85), abs=0.006)
    assert (result.n, result.observed) == (100, 0.89)
    assert result.expected == pytest.approx(0.66)


def test_two_by_two_by_hand() -> None:
    """20 and 15 agree, 5 and 10 differ: observed .7, expected .5 * .6 + .5 * .4, kappa .4."""
    result = kappa_of_table({("y", "y"): 20, ("y", "n"): 5, ("n", "y"): 10, ("n", "n"): 15})
    assert result.observed == 0.7
    assert result.expected == pytest.approx(0.5)
    assert result.kappa == pytest.approx(0.4)


def test_pairs_are_counted_into_a_table() -> None:
    """Of (first rater's, second's) categories; the table is part of the result."""
    result = cohen_kappa([(1, 1), (1, 2), (2, 2), (1, 1)])
    assert result.table == {("1", "1"): 2, ("1", "2"): 1, ("2", "2"): 1}
    assert result.n == 4


@pytest.mark.parametrize(
    ("pairs", "reason"),
    [
        ([], "no item was rated by both"),
        ([("no match", "no match")] * 5, "both raters gave one and the same answer throughout"),
    ],
)
def test_undefined_kappa_says_why(pairs: list[tuple[str, str]], reason: str) -> None:
    """Always saying no agrees perfectly and shows nothing."""
    result = cohen_kappa(pairs)
    assert (result.kappa, result.interval, result.reason) == (None, None, reason)


def test_one_rater_who_always_says_the_same_has_kappa_zero() -> None:
    """Agreement is what chance gives: not undefined, but worthless."""
    assert cohen_kappa([("n", "n"), ("n", "y"), ("n", "n")]).kappa == pytest.approx(0.0)


def test_a_matcher_and_a_person_are_compared_on_what_both_decided() -> None:
    """Pairs of error and finding that only one looked at are left out; the last decision of a pair counts."""
    matcher = [Match(0, 0, caught=True), Match(0, 1, caught=False), Match(1, 0, caught=True), Match(5, 5, caught=True)]
    person = [Match(0, 0, caught=True), Match(0, 1, caught=False), Match(1, 0, caught=False), Match(7, 7, caught=True)]
    result = matcher_kappa(matcher, person)
    assert result.table == {("match", "match"): 1, ("no match", "no match"): 1, ("match", "no match"): 1}
    assert result.kappa == pytest.approx((2 / 3 - 4 / 9) / (5 / 9))


PAIRS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=30)


@given(PAIRS)
def test_kappa_is_symmetric_bounded_and_inside_its_interval(pairs: list[tuple[str, str]]) -> None:
    """Swapping the raters changes nothing; 1 exactly where they always agree."""
    result = cohen_kappa(pairs)
    swapped = cohen_kappa([(b, a) for a, b in pairs])
    if result.kappa is None:
        assert swapped.kappa is None
        return
    assert swapped.kappa == pytest.approx(result.kappa)
    assert result.interval is not None
    assert -1 <= result.interval[0] <= result.kappa + 1e-9
    assert result.kappa - 1e-9 <= result.interval[1] <= 1
    assert (result.kappa == pytest.approx(1)) == all(a == b for a, b in pairs)
