"""Scores beside people's scores: hand-counted shares, distances, raters and subjects that do not pair."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.judges.measures.scales import ScaleAgreement, ScaleRating, scale_agreement


def scores(values: str, rater: str = "", judge: str = "LC") -> list[ScaleRating]:
    """One trace a digit, t0 on; a dot is a trace without score."""
    return [ScaleRating(f"t{i}", "", judge, int(c), rater) for i, c in enumerate(values) if c != "."]


def only(result: tuple[ScaleAgreement, ...]) -> ScaleAgreement:
    (one,) = result
    return one


def test_figures_by_hand() -> None:
    """Judge 3 2 1 0 3, people 3 1 1 2 1: two equal, three within 1, bins and distances counted below."""
    result = only(scale_agreement(scores("32103"), scores("31121")))
    assert result.n == 5
    assert result.accuracy == pytest.approx(2 / 5)  # t0, t2
    assert result.off_by_one == pytest.approx(3 / 5)  # and t1
    assert result.three_point == pytest.approx(3 / 5)  # 2 beside 1 is "in part" twice
    assert result.two_point == pytest.approx(2 / 5)  # 2|1 and 0|2 and 3|1 lie on two sides of the middle
    assert result.mae == pytest.approx((0 + 1 + 0 + 2 + 2) / 5)
    assert result.normalised_mae == pytest.approx(1 / 3)
    assert result.bias == pytest.approx((0 + 1 + 0 - 2 + 2) / 5)
    assert result.pearson == pytest.approx(0.6 / (6.8 * 3.2) ** 0.5)
    assert result.spearman == pytest.approx(0.5 / (9.5 * 8) ** 0.5)


@pytest.mark.parametrize(("split", "share"), [(1, 1), (2, 3 / 4), (3, 1 / 2)])
def test_people_set_the_split_of_two_points(split: int, share: float) -> None:
    """The lowest score that counts as met; of 2 2 3 3 beside 1 3 2 3."""
    row = only(scale_agreement(scores("2233"), scores("1323"), split))
    assert row.two_point == pytest.approx(share)
    assert row.two_point_bins == ((0, 1, 2, 3)[:split], (0, 1, 2, 3)[split:])


def test_the_error_on_three_points_is_by_two() -> None:
    """Judge 0 2 3, people 1 1 3: failed beside in part, twice the same."""
    row = only(scale_agreement(scores("023"), scores("113")))
    assert row.three_point_mae == pytest.approx(1 / 3 / 2)
    assert row.normalised_mae == pytest.approx(2 / 3 / 3)


def test_people_may_score_on_three_points() -> None:
    """All figures are then of three: the judge's 0 2 3 1 is 0 1 2 1, an other person's 0 1 3 2 as well."""
    thirds = [replace(rating, points=3) for rating in scores("1120", "ann")]
    row = only(scale_agreement(scores("0231"), [*thirds, *scores("3332", "bob")], 3))
    assert row.points == 3
    assert row.accuracy == row.three_point == pytest.approx(1 / 2)  # the stricter of two: 1 1 2 0
    assert row.mae == pytest.approx(2 / 4)
    assert row.normalised_mae == row.three_point_mae == pytest.approx(1 / 4)
    assert row.two_point == pytest.approx(1)  # who met it all: the third alone
    assert only(scale_agreement(scores("0231"), thirds)).two_point is None  # "in part" may be either
    with pytest.raises(ValueError, match=r"3 of t0 is not one of \(0, 1, 2\)"):
        scale_agreement([], [replace(rating, points=3) for rating in scores("3")])


@pytest.mark.parametrize(
    ("judge", "people", "three_point", "two_point"),
    [("0", "0", 1, 1), ("0", "1", 0, 1), ("1", "2", 1, 0), ("2", "3", 0, 1), ("3", "3", 1, 1), ("0", "3", 0, 0)],
)
def test_bins_at_each_border(judge: str, people: str, three_point: int, two_point: int) -> None:
    """{0}, {1, 2}, {3} and {0, 1}, {2, 3}: neighbours on the two sides of each border."""
    result = only(scale_agreement(scores(judge), scores(people)))
    assert (result.three_point, result.two_point) == (three_point, two_point)


def test_of_several_raters_the_low_median_counts() -> None:
    """Three raters: the middle one; two: the stricter; their agreement with each other stands beside it."""
    people = [*scores("013", "ann"), *scores("123", "bob"), *scores("3.0", "eve")]
    result = only(scale_agreement(scores("110"), people))
    assert result.raters == 3
    assert result.accuracy == pytest.approx(2 / 3)  # medians 1, 1, 3
    assert result.people.units == 3
    assert result.people.ratings == 8
    assert result.people.alpha is not None


def test_one_rater_has_nobody_to_agree_with() -> None:
    """The ceiling is absent, with the reason."""
    result = only(scale_agreement(scores("12"), scores("12", "ann")))
    assert result.people.alpha is None
    assert result.people.reason == "nothing has two valid ratings"


def test_subjects_without_a_pair_are_counted_and_left_out() -> None:
    """An unscored trace is no disagreement; so is one that nobody labelled."""
    result = only(scale_agreement(scores("11.."), scores(".111")))
    assert (result.n, result.judge_only, result.people_only) == (1, 1, 2)
    assert result.accuracy == 1


def test_a_run_is_another_subject_than_its_trace() -> None:
    """Scores pair by trace and run."""
    result = only(scale_agreement([ScaleRating("t", "r1", "LC", 1)], [ScaleRating("t", "", "LC", 1)]))
    assert result.n == 0


def test_judges_that_nobody_labelled_have_no_row_and_unscored_ones_an_empty_one() -> None:
    """Rows are the judges that people scored, by name."""
    result = scale_agreement(scores("1", judge="LC"), scores("1", judge="EE"))
    (row,) = result
    assert (row.judge, row.n, row.people_only) == ("EE", 0, 1)
    assert row.accuracy is row.pearson is row.mae is row.normalised_mae is row.bias is row.two_point is None
    assert not row.intervals


def test_a_constant_side_has_no_correlation() -> None:
    """None, while shares and distances stand."""
    result = only(scale_agreement(scores("222"), scores("123")))
    assert result.pearson is result.spearman is None
    assert result.accuracy == pytest.approx(1 / 3)
    assert result.off_by_one == 1


@pytest.mark.parametrize("score", [-1, 4])
def test_scores_off_the_scale_are_refused(score: int) -> None:
    """On either side."""
    wrong, right = [ScaleRating("t", "", "LC", score)], scores("1")
    for mine, theirs in ((wrong, right), (right, wrong)):
        with pytest.raises(ValueError, match="is not one of"):
            scale_agreement(mine, theirs)


def test_shares_have_wilsons_intervals_and_distances_bootstrapped_ones() -> None:
    """All right in ten: Wilson's lower end is .722, where a bootstrap would claim certainty."""
    result = only(scale_agreement(scores("0123012301"), scores("0123012301")))
    assert result.intervals["accuracy"] == pytest.approx((0.7225, 1.0), abs=0.0005)
    assert result.intervals["mae"] == (0.0, 0.0)
    assert result.intervals["pearson"] == pytest.approx((1.0, 1.0))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=20))
def test_figures_keep_their_order(pairs: list[tuple[int, int]]) -> None:
    """A same score is in the same bin and within 1; MAE bounds bias; normalised it is in [0, 1]."""
    judge = [ScaleRating(f"t{i}", "", "LC", a) for i, (a, _) in enumerate(pairs)]
    people = [ScaleRating(f"t{i}", "", "LC", b) for i, (_, b) in enumerate(pairs)]
    r = only(scale_agreement(judge, people))
    assert r.accuracy is not None
    assert r.mae is not None
    assert r.bias is not None
    assert all(share is not None and r.accuracy <= share <= 1 for share in (r.off_by_one, r.three_point, r.two_point))
    assert r.normalised_mae is not None
    assert abs(r.bias) <= r.mae + 1e-12
    assert 0 <= r.normalised_mae <= 1
    swapped = only(scale_agreement(people, judge))
    assert (swapped.accuracy, swapped.mae) == (r.accuracy, r.mae)
    assert swapped.bias == pytest.approx(-r.bias)
