"""Scores beside outcomes: by hand, and where there is nothing to correlate."""

from __future__ import annotations

import pytest

from tracejury.judges.measures.outcome_correlation import outcome_correlations

OUTCOMES = {"a": 0.0, "b": 0.0, "c": 1.0, "d": 1.0, "only": 1.0}


def test_scores_that_go_with_success_correlate() -> None:
    """By hand: the point-biserial correlation of 1, 0, 3, 2 with failure, failure, success, success is 2 / sqrt(5)."""
    (row,) = outcome_correlations({"logical-consistency": {"a": 1, "b": 0, "c": 3, "d": 2, "unknown": 0}}, OUTCOMES)
    assert (row.judge, row.n, row.reason) == ("logical-consistency", 4, "")
    assert row.pearson == pytest.approx(2 / 5**0.5)
    assert row.spearman == pytest.approx(2 / 5**0.5)
    low, high = row.intervals["pearson"]
    assert low <= 2 / 5**0.5 <= high


@pytest.mark.parametrize(
    ("scores", "why"),
    [
        ({"a": 1, "c": 2}, "2 traces have a score and an outcome, at least 3 are needed"),
        ({"a": 2, "b": 2, "c": 2}, "every score is the same"),
        ({"c": 1, "d": 2, "only": 3}, "every outcome is the same"),
    ],
)
def test_without_a_figure_there_is_a_reason(scores: dict[str, float], why: str) -> None:
    """One line."""
    (row,) = outcome_correlations({"j": scores}, OUTCOMES)
    assert (row.pearson, row.spearman, row.reason) == (None, None, why)
