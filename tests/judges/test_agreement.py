"""Agreement with annotations: published vectors, hand-counted traces and the edges of each formula."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.judges.agreement import Agreement, Annotated, Figures, Predicted, agreement, f_score
from tracejury.judges.agreement_tables import per_category, per_detector, per_dimension, per_impact
from tracejury.schemas.taxonomy import TRAIL_CATEGORIES

FORMAT, ABUSE, DEVIATION = "Formatting Errors", "Resource Abuse", "Goal Deviation"


def gold(trace: str, span: str, category: str = FORMAT, invalid: str = "") -> Annotated:
    return Annotated(trace, span, category, invalid=invalid)


def found(trace: str, span: str, category: str = FORMAT, judge: str = "rule") -> Predicted:
    return Predicted(trace, span, category, judge)


def score(traces: Sequence[str], annotated: list[Annotated], predicted: list[Predicted]) -> Agreement:
    return agreement(traces, annotated, predicted)


HAND_COUNTED = (
    ["t1", "t2", "t3"],
    [gold("t1", "a"), gold("t1", "a", ABUSE), gold("t1", "b"), gold("t2", "a", DEVIATION), gold("t2", "c")],
    [found("t1", "a"), found("t1", "a", judge="other"), found("t1", "x"), found("t2", "a", ABUSE), found("t3", "a")],
)
"""Three traces, one without errors: every figure below can be counted on the fingers."""


def test_figures_of_hand_counted_traces() -> None:
    """Pooled figures count errors and (trace, span) pairs; location and joint accuracy are means over traces."""
    figures = score(*HAND_COUNTED).all
    assert figures.findings_per_trace == pytest.approx(5 / 3)
    assert figures.localised == pytest.approx(3 / 5)  # both errors at t1/a and the one at t2/a
    assert figures.span_precision == pytest.approx(2 / 4)  # t1/a, t2/a of t1/a, t1/x, t2/a, t3/a
    assert figures.span_recall == pytest.approx(2 / 4)  # of t1/a, t1/b, t2/a, t2/c
    assert figures.span_f1 == pytest.approx(0.5)
    assert figures.location_accuracy == pytest.approx((1 / 2 + 1 / 2 + 0) / 3)
    assert figures.joint_accuracy == pytest.approx((1 / 3 + 0 + 0) / 3)


def test_spans_named_beside_the_primary_one_count_in_figures_of_their_own() -> None:
    """A finding at x that showed at a localises the error at a by any named span, and only so."""
    beside = Predicted("t", "x", ABUSE, elsewhere=("a", "y"))
    figures = score(["t"], [gold("t", "a"), gold("t", "b")], [beside, found("t", "b")]).all
    assert (figures.localised, figures.localised_any) == (1 / 2, 1.0)
    assert (figures.span_precision, figures.span_precision_any) == (1 / 2, 2 / 4)


def test_weighted_category_f1_equals_the_vector_of_scikit_learn() -> None:
    """The example in the documentation of `f1_score(..., average="weighted")`: 0.26..., one category a trace."""
    names = TRAIL_CATEGORIES[:3]
    truth, guess = [0, 1, 2, 0, 1, 2], [0, 2, 1, 0, 0, 1]
    traces = [f"t{i}" for i in range(6)]
    annotated = [gold(t, "s", names[k]) for t, k in zip(traces, truth, strict=True)]
    predicted = [found(t, "s", names[k]) for t, k in zip(traces, guess, strict=True)]
    assert score(traces, annotated, predicted).all.weighted_category_f1 == pytest.approx(0.8 / 3)


def test_weighted_category_f1_counts_presence_not_occurrences() -> None:
    """Naming a category five times in a trace is naming it once; the span does not matter."""
    annotated = [gold("t", "a"), gold("t", "b")]
    once = score(["t"], annotated, [found("t", "x")]).all
    often = score(["t"], annotated, [found("t", f"x{i}") for i in range(5)]).all
    assert once.weighted_category_f1 == often.weighted_category_f1 == 1.0


def test_categories_outside_the_taxonomy_take_no_part_in_the_category_f1() -> None:
    """As in TRAIL's scorer: they have no column. Location still counts."""
    figures = score(["t"], [gold("t", "a", "Bad Vibes")], [found("t", "a", "Bad Vibes")]).all
    assert figures.weighted_category_f1 == 0.0
    assert figures.location_accuracy == figures.joint_accuracy == 1.0


NOTHING = Figures(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("traces", "annotated", "predicted", "expected"),
    [
        pytest.param([], [], [], NOTHING, id="no traces"),
        pytest.param(["t"], [], [], NOTHING, id="no errors, no findings"),
        pytest.param(["t"], [gold("t", "a")], [], NOTHING, id="no findings"),
        pytest.param(["t"], [], [found("t", "a")], Figures(1.0, 0, 0, 0, 0, 0, 0, 0, 0, 0), id="no errors"),
        pytest.param(["t"], [gold("t", "a")], [found("t", "a")], Figures(1.0, 1, 1, 1, 1, 1, 1, 1, 1, 1), id="perfect"),
        pytest.param(
            ["t"],
            [gold("t", "a"), gold("t", "a")],
            [found("t", "a"), found("t", "a")],
            Figures(2.0, 1, 1, 1, 1, 1, 1, 1, 1, 1),
            id="duplicates count once in sets, each in findings",
        ),
        pytest.param(["t"], [gold("u", "a")], [found("u", "a")], NOTHING, id="other traces are ignored"),
        pytest.param(
            ["t", "u"],
            [gold("t", "a")],
            [found("u", "a")],
            Figures(0.5, 0, 0, 0, 0, 0, 0, 0, 0, 0),
            id="span ids are a trace's",
        ),
    ],
)
def test_edges(traces: list[str], annotated: list[Annotated], predicted: list[Predicted], expected: Figures) -> None:
    """A ratio without denominator is 0, sets drop duplicates, and a span id means nothing in another trace."""
    assert score(traces, annotated, predicted).all == expected


def test_invalid_annotations_count_in_all_and_not_in_valid() -> None:
    """The same findings, scored with and without the annotations that blame what is no error."""
    annotated = [gold("t", "a"), gold("t", "b", invalid="stop sequence"), gold("t", "c")]
    result = score(["t"], annotated, [found("t", "a")])
    assert (result.errors, result.invalid) == (3, 1)
    assert result.all.localised == pytest.approx(1 / 3)
    assert result.valid.localised == pytest.approx(1 / 2)
    assert result.all.span_precision == result.valid.span_precision == 1.0


def test_intervals_hold_the_figure_and_are_reproducible() -> None:
    """The same seed gives the same interval; identical traces leave nothing uncertain."""
    traces = [f"t{i}" for i in range(30)]
    annotated = [gold(t, "a") for t in traces]
    predicted = [found(t, "a") for t in traces[:18]]
    first = agreement(traces, annotated, predicted)
    low, high = first.intervals["localised"]
    assert low < first.all.localised == 0.6 < high
    # The normal approximation says 0.6 +- 1.96 * sqrt(0.24 / 30): 0.42 to 0.78.
    assert low == pytest.approx(0.42, abs=0.08)
    assert high == pytest.approx(0.78, abs=0.08)
    assert first.intervals == agreement(traces, annotated, predicted).intervals
    certain = agreement(traces, annotated, [found(t, "a") for t in traces])
    assert set(certain.intervals.values()) == {(1.0, 1.0)}


spans = st.sampled_from(["a", "b", "c"])
categories = st.sampled_from([FORMAT, ABUSE, "unknown"])
traces_of = st.sampled_from(["t", "u"])


@given(
    st.lists(st.builds(gold, traces_of, spans, categories)), st.lists(st.builds(found, traces_of, spans, categories))
)
def test_figures_are_bounded_and_order_does_not_matter(annotated: list[Annotated], predicted: list[Predicted]) -> None:
    """Every share lies in [0, 1], joint is at most location accuracy, and the order of the input changes nothing."""
    result = agreement(["t", "u"], annotated, predicted)
    shares = {k: v for k, v in asdict(result.all).items() if k != "findings_per_trace"}
    assert all(0.0 <= v <= 1.0 for v in shares.values())
    assert result.all.span_recall <= 1.0
    assert result == agreement(["t", "u"], annotated[::-1], predicted[::-1])


@pytest.mark.parametrize(
    ("precision", "recall", "beta", "expected"),
    [(0.5, 1.0, 1.0, 2 / 3), (0.5, 1.0, 2.0, 5 * 0.5 / 3), (0.0, 0.0, 1.0, 0.0), (1.0, 0.0, 2.0, 0.0)],
)
def test_f_score(precision: float, recall: float, beta: float, expected: float) -> None:
    """Van Rijsbergen's F, with F2 leaning to recall and 0 where both are 0."""
    assert f_score(precision, recall, beta) == pytest.approx(expected)


def test_table_by_category() -> None:
    """Recall and precision demand the same category at the span, `localised` and `span_precision` any."""
    rows = per_category(HAND_COUNTED[1], HAND_COUNTED[2])
    assert list(rows) == [FORMAT, DEVIATION, ABUSE]
    formatting = rows[FORMAT]
    assert (formatting.errors, formatting.matched, formatting.findings) == (3, 1, 4)
    assert formatting.localised == pytest.approx(1 / 3)
    assert formatting.recall == pytest.approx(1 / 3)
    assert formatting.span_precision == formatting.precision == pytest.approx(2 / 4)
    assert (rows[ABUSE].errors, rows[ABUSE].findings, rows[ABUSE].precision) == (1, 1, 0.0)
    assert (rows[ABUSE].localised, rows[ABUSE].span_precision) == (1.0, 1.0)


def test_table_by_detector() -> None:
    """A detector's findings on annotated spans, on the same category, and the errors on its spans."""
    rows = per_detector(HAND_COUNTED[1], HAND_COUNTED[2])
    rule, other = rows["rule"], rows["other"]
    assert (rule.findings, rule.traces, rule.errors) == (4, 3, 3)
    assert rule.span_precision == pytest.approx(2 / 4)
    assert rule.precision == pytest.approx(1 / 4)
    assert (other.findings, other.errors, other.precision) == (1, 2, 1.0)


def test_tables_by_dimension_and_impact() -> None:
    """An error of two dimensions counts in both; impact rows share out the errors."""
    annotated = [Annotated("t", "a", FORMAT, "HIGH", ("EE", "TC")), Annotated("t", "b", FORMAT, "LOW", ("TC",))]
    predicted = [Predicted("t", "a", ABUSE, "rule", 0.9, ("EE",)), Predicted("t", "c", FORMAT, "rule", 0.9, ("TC",))]
    by_dimension = per_dimension(annotated, predicted)
    assert (by_dimension["EE"].recall, by_dimension["EE"].precision, by_dimension["EE"].f2) == (1.0, 1.0, 1.0)
    assert (by_dimension["TC"].errors, by_dimension["TC"].localised, by_dimension["TC"].recall) == (2, 0.5, 0.0)
    by_impact = per_impact(annotated, predicted)
    assert (by_impact["HIGH"].localised, by_impact["HIGH"].joint) == (1.0, 0.0)
    assert by_impact["LOW"].localised == 0.0
