"""Figures of a confusion matrix, and where they are undefined."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.judges.agreement import f_score
from tracejury.judges.measures.confusion import Confusion

COUNTS = st.integers(0, 50)


def test_figures_by_hand() -> None:
    """2 true and 1 false positive, 1 miss, 6 true negatives."""
    c = Confusion(tp=2, fp=1, fn=1, tn=6)
    assert c.precision == pytest.approx(2 / 3)
    assert c.recall == pytest.approx(2 / 3)
    assert c.f1 == pytest.approx(2 / 3)
    assert c.f2 == pytest.approx(2 / 3)
    assert c.accuracy == pytest.approx(0.8)


def test_f2_leans_to_recall() -> None:
    """With 5 true and 5 false positives: precision .5, recall 1, F1 2/3, F2 5/6."""
    c = Confusion(tp=5, fp=5)
    assert c.f1 == pytest.approx(2 / 3)
    assert c.f2 == pytest.approx(5 / 6)


@pytest.mark.parametrize(
    ("confusion", "defined"),
    [
        (Confusion(), set()),
        (Confusion(tn=3), {"accuracy"}),
        (Confusion(fn=1), {"recall", "f1", "f2", "accuracy"}),
        (Confusion(fp=1), {"precision", "f1", "f2", "accuracy"}),
        (Confusion(tp=1), {"precision", "recall", "f1", "f2", "accuracy"}),
    ],
)
def test_a_figure_without_denominator_is_undefined(confusion: Confusion, defined: set[str]) -> None:
    """Nothing said has no precision, nothing there to say no recall; neither is 0."""
    assert set(confusion.figures()) == defined


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_f_scores_are_means_of_precision_and_recall(tp: int, fp: int, fn: int, tn: int) -> None:
    """Where both are defined, F1 and F2 from counts equal the weighted harmonic means."""
    c = Confusion(tp, fp, fn, tn)
    if c.precision is not None and c.recall is not None:
        assert c.f1 == pytest.approx(f_score(c.precision, c.recall))
        assert c.f2 == pytest.approx(f_score(c.precision, c.recall, beta=2.0))


@given(st.lists(st.tuples(st.booleans(), st.booleans())), st.lists(st.tuples(st.booleans(), st.booleans())))
def test_counting_apart_and_adding_is_counting_together(
    first: list[tuple[bool, bool]], second: list[tuple[bool, bool]]
) -> None:
    """Pooling over traces loses nothing."""
    assert Confusion.of(first) + Confusion.of(second) == Confusion.of(first + second)
    assert Confusion.of(first).total == len(first)
