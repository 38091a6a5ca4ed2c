"""Krippendorff's alpha on its author's examples, its properties, and the spread of repeated scores."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.judges.measures.reliability import by_repetition, krippendorff_alpha, reliability, spread


def units(*observers: str) -> list[list[float | None]]:
    """One row a unit from one string an observer; a dot is a missing rating."""
    columns = zip(*observers, strict=True)
    return [[None if c == "." else float(ord(c) - ord("0")) for c in column] for column in columns]


BINARY = units("0100000010", "1110010000")
MISSING = units("123321412...", "1233224125.3", ".3332342251.", "12332441251.")


@pytest.mark.parametrize(
    ("ratings", "expected"),
    [
        pytest.param(BINARY, 0.095, id="B: two observers, binary"),
        pytest.param(MISSING, 0.849, id="E: four observers, missing, interval"),
    ],
)
def test_the_authors_examples(ratings: list[list[float | None]], expected: float) -> None:
    """Krippendorff, "Computing Krippendorff's Alpha-Reliability", 2011."""
    assert krippendorff_alpha(ratings).alpha == pytest.approx(expected, abs=0.0005)


def test_units_with_one_rating_take_no_part() -> None:
    """The 12th unit of the author's example has one: 11 units and 40 ratings are left."""
    alpha = krippendorff_alpha(MISSING)
    assert (alpha.units, alpha.ratings, alpha.left_out) == (11, 40, 1)
    assert krippendorff_alpha(MISSING[:-1]).alpha == alpha.alpha


def test_two_ratings_by_hand() -> None:
    """Units (0, 1), (1, 1): observed 2 * 1 / 4, expected 2 * 3 / 12, so no better than chance."""
    assert krippendorff_alpha([[0, 1], [1, 1]]).alpha == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("ratings", "reason"),
    [
        ([], "nothing has two valid ratings"),
        ([[1, None], [None, 2], [None, None], []], "nothing has two valid ratings"),
        ([[2, 2], [2, 2, None]], "all ratings are equal: nothing to tell agreement from"),
        ([[2, 2], [1, None]], "all ratings are equal: nothing to tell agreement from"),
    ],
)
def test_where_alpha_is_undefined_it_says_why(ratings: list[list[float | None]], reason: str) -> None:
    """None is not 0, and a judge that always says 2 is not thereby reliable."""
    alpha = krippendorff_alpha(ratings)
    assert (alpha.alpha, alpha.interval, alpha.reason) == (None, None, reason)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_rating_is_a_number(bad: float) -> None:
    """Unscored is None, never NaN."""
    with pytest.raises(ValueError, match="finite"):
        krippendorff_alpha([[1, bad], [1, 2]])
    with pytest.raises(ValueError, match="finite"):
        spread([[1, bad]])


SCORES = st.lists(st.lists(st.none() | st.integers(0, 3), min_size=2, max_size=4), min_size=1, max_size=12)


@given(st.lists(st.integers(0, 3), min_size=2, max_size=12).filter(lambda s: len(set(s)) > 1), st.integers(2, 4))
def test_perfect_agreement_is_one(scores: list[int], raters: int) -> None:
    """Whatever the scores are, as long as they are not all the same."""
    alpha = krippendorff_alpha([[s] * raters for s in scores])
    assert alpha.alpha == 1.0
    assert alpha.interval == (1.0, 1.0)


@given(SCORES, st.randoms(use_true_random=False))
def test_the_order_of_units_and_raters_does_not_matter(scores: list[list[int | None]], random: object) -> None:
    """Raters are anonymous: each unit's ratings may be shuffled on their own."""
    shuffled = [row[:] for row in scores]
    getattr(random, "shuffle")(shuffled)  # noqa: B009  hypothesis gives it no narrower type
    reordered = [row[::-1] for row in shuffled]
    one, other = krippendorff_alpha(scores).alpha, krippendorff_alpha(reordered).alpha
    assert one == (None if other is None else pytest.approx(other))


@given(SCORES)
def test_alpha_of_the_interval_metric_does_not_depend_on_the_scale(scores: list[list[int | None]]) -> None:
    """Scores of 0 to 3 or of 0 to 1 have the same alpha; no alpha exceeds 1."""
    raw = krippendorff_alpha(scores).alpha
    scaled = reliability(scores).alpha.alpha
    assert scaled == (None if raw is None else pytest.approx(raw))
    assert raw is None or raw <= 1


@given(SCORES)
def test_alpha_equals_the_definition_pair_by_pair(scores: list[list[int | None]]) -> None:
    """Computed the long way, over ordered pairs of single ratings."""
    rows = [v for row in scores if len(v := [x for x in row if x is not None]) > 1]
    flat = [x for row in rows for x in row]
    n = len(flat)
    expected = sum((a - b) ** 2 for a in flat for b in flat) / (n * (n - 1)) if n else 0
    observed = sum(sum((a - b) ** 2 for a in row for b in row) / (len(row) - 1) for row in rows) / n if n else 0
    alpha = krippendorff_alpha(scores).alpha
    assert alpha == (pytest.approx(1 - observed / expected) if expected else None)


def test_the_interval_holds_the_figure_and_repeats_with_the_seed() -> None:
    """A bootstrap over units with a fixed seed."""
    once, again = krippendorff_alpha(MISSING), krippendorff_alpha(MISSING)
    assert once == again
    assert once.alpha is not None
    assert once.interval is not None
    assert once.interval[0] < once.alpha < once.interval[1] <= 1


def test_spread_by_hand() -> None:
    """Scores 0 and 3 in [0, 1] deviate by sqrt(1/2), three equal ones by 0; the single one is left out."""
    result = reliability([[0, 3], [2, 2, 2], [1, None]]).spread
    assert result.mean == pytest.approx((0.5**0.5 + 0) / 2)
    assert result.units == 2
    assert result.interval is not None
    assert result.interval == pytest.approx((0.0, 0.5**0.5))


def test_no_spread_of_single_ratings() -> None:
    """One run has no spread: absent with the reason, not 0."""
    result = spread([[1], [None, 2], []])
    assert (result.mean, result.interval, result.units) == (None, None, 0)
    assert result.reason


@given(SCORES)
def test_spread_is_at_most_that_of_the_ends(scores: list[list[int | None]]) -> None:
    """No deviation of scores in [0, 1] exceeds that of one 0 and one 1; the interval holds the mean's range."""
    result = reliability(scores).spread
    if result.mean is not None:
        assert result.interval is not None
        assert 0 <= result.interval[0] <= result.interval[1] <= stdev([0, 1]) + 1e-12
        assert 0 <= result.mean <= stdev([0, 1]) + 1e-12


@pytest.mark.parametrize("score", [-1, 3.01, 4])
def test_scores_off_the_scale_are_refused(score: float) -> None:
    """At the ends 0 and 3 they are taken, beyond not."""
    with pytest.raises(ValueError, match="not in 0 to 3"):
        reliability([[score, 1]])
    assert reliability([[0, 3]]).alpha.units == 1


def test_repetitions_become_rows_by_subject() -> None:
    """A subject that a repetition does not score has no rating there, whether it is named or not."""
    runs: Sequence[dict[str, float | None]] = [{"t": 1, "u": None}, {"t": 2, "v": 3}]
    rows = by_repetition(runs)
    assert rows == [[1, 2], [None, None], [None, 3]]
    assert all(len(a) == len(b) for a, b in pairwise(rows))
