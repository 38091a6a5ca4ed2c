"""Two versions on the same labelled traces: paired deltas, discordant errors, judge by judge."""

from __future__ import annotations

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.judges.agreement import Annotated, Predicted, agreement
from tracejury.judges.measures.comparison import ComparisonRow, Paired, VersionComparison, compare, mcnemar
from tracejury.judges.measures.matching import Basis, Match

TRACES = ["t", "u", "v"]
LC, EE = ("LC",), ("EE",)


def error(trace: str, span: str, dimensions: tuple[str, ...] = LC) -> Annotated:
    return Annotated(trace, span, "Language-only", "HIGH", dimensions)


def found(trace: str, span: str, dimensions: tuple[str, ...] = LC) -> Predicted:
    return Predicted(trace, span, "Language-only", "j", dimensions=dimensions)


ERRORS = [error("t", "a"), error("t", "b", EE), error("u", "a"), error("u", "c")]
A = [found("t", "a"), found("u", "c"), found("v", "x")]
B = [found("t", "a"), found("t", "b", EE), found("u", "a"), found("u", "y")]


def row(result: VersionComparison, dimension: str) -> ComparisonRow:
    return next(r for r in result.rows if r.dimension == dimension)


def test_deltas_and_discordant_errors_by_hand() -> None:
    """Version a localises t/a and u/c, b t/a, t/b and u/a: one error apart for a, two for b."""
    result = compare(TRACES, ERRORS, A, B)
    figures = result.row.figures
    assert (figures["localised"].a, figures["localised"].b, figures["localised"].delta) == (0.5, 0.75, 0.25)
    assert figures["span_precision"].a == pytest.approx(2 / 3)
    assert figures["span_precision"].b == 0.75
    assert figures["findings_per_trace"].a == 1.0
    assert figures["findings_per_trace"].b == pytest.approx(4 / 3)
    assert figures["span_f1"].a == pytest.approx(4 / 7)
    assert result.row.localised == Paired(both=1, only_a=1, only_b=2, neither=0)
    assert (result.traces, result.errors) == (3, 4)


def test_rows_by_judge_see_its_errors_and_findings_only() -> None:
    """The LC judge is measured on errors mapped to LC; a judge without errors or findings has no shares."""
    result = compare(TRACES, ERRORS, A, B)
    lc, ee, pq = row(result, "LC"), row(result, "EE"), row(result, "PQ")
    assert lc.errors == 3
    assert lc.localised == Paired(both=1, only_a=1, only_b=1, neither=0)
    assert ee.localised == Paired(both=0, only_a=0, only_b=1, neither=0)
    assert (ee.figures["span_precision"].a, ee.figures["span_precision"].delta) == (None, None)
    assert ee.figures["span_precision"].b == 1.0
    assert set(pq.figures) == {"findings_per_trace"}


def test_matches_decide_for_each_version() -> None:
    """Caught by content and localised are told apart, each version on its own basis."""
    result = compare(TRACES, ERRORS, A, B, matches_a=[Match(1, 0, caught=True), Match(0, 0, caught=True)])
    assert (result.basis_a, result.basis_b) == (Basis.ADJUDICATED, Basis.SAME_SPAN)
    assert (result.row.figures["caught"].a, result.row.figures["localised"].a) == (0.5, 0.25)


def test_traces_that_were_not_judged_by_both_are_ignored() -> None:
    """Their errors and findings count in no figure."""
    result = compare(["t"], ERRORS, A, B)
    assert result.errors == 2
    assert result.row.figures["findings_per_trace"].b == 2.0
    assert compare([], ERRORS, A, B).row.figures == {}


def test_the_interval_is_paired() -> None:
    """A version one error better in every trace: the delta does not vary with the traces drawn, its parts do."""
    names = [f"t{i}" for i in range(20)]
    errors = [error(t, s) for i, t in enumerate(names) for s in ("a", "b", "c")]
    base = [found(t, "a") for i, t in enumerate(names) if i % 2]
    better = [*base, *(found(t, "b") for t in names)]
    delta = compare(names, errors, base, better).row.figures["localised"]
    assert delta.delta == pytest.approx(1 / 3)
    assert delta.interval == pytest.approx((1 / 3, 1 / 3))


@pytest.mark.parametrize(
    ("only_a", "only_b", "p"),
    [(0, 0, None), (1, 0, 1.0), (3, 3, 1.0), (0, 5, 0.0625), (0, 6, 0.03125), (5, 1, 0.21875)],
)
def test_mcnemar_by_hand(only_a: int, only_b: int, p: float | None) -> None:
    """Two-sided binomial at 1/2: (0, 5) is 2 / 32; an even split is 1, never more."""
    assert mcnemar(only_a, only_b) == p


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_sum_of_what_is_no_likelier(a: int, b: int) -> None:
    """Symmetric, and equal to the exact test's definition: all splits at most as likely as the one seen."""
    p = mcnemar(a, b)
    assert p == mcnemar(b, a)
    if a + b:
        n = a + b
        assert p == pytest.approx(sum(comb(n, k) for k in range(n + 1) if comb(n, k) <= comb(n, a)) / 2**n)


SPANS = st.sampled_from("abc")
DIMENSIONS = st.sampled_from([LC, EE, ("LC", "EE"), ()])
SOME_ERRORS = st.lists(st.builds(error, st.sampled_from(TRACES), SPANS, DIMENSIONS), max_size=8)
SOME_FINDINGS = st.lists(st.builds(found, st.sampled_from(TRACES), SPANS, DIMENSIONS), max_size=8)


@given(SOME_ERRORS, SOME_FINDINGS, SOME_FINDINGS)
def test_each_version_has_the_figures_it_has_alone(
    errors: list[Annotated], a: list[Predicted], b: list[Predicted]
) -> None:
    """The same as `agreement` says of it; swapping the versions turns the deltas round; a version equals itself."""
    result = compare(TRACES, errors, a, b)
    swapped = compare(TRACES, errors, b, a)
    for findings, name in ((a, "a"), (b, "b")):
        alone = agreement(TRACES, errors, findings).all
        for figure in ("localised", "span_precision", "span_recall", "span_f1", "findings_per_trace"):
            delta = result.row.figures.get(figure)
            mine = None if delta is None else getattr(delta, name)
            assert (mine or 0.0) == pytest.approx(getattr(alone, figure))
    for one, other in zip(result.rows, swapped.rows, strict=True):
        assert (one.localised.only_a, one.localised.only_b) == (other.localised.only_b, other.localised.only_a)
        for figure, delta in one.figures.items():
            assert delta.delta == (None if delta.delta is None else pytest.approx(-(other.figures[figure].delta or 0)))
    same = compare(TRACES, errors, a, a)
    assert all(d.delta in {None, 0.0} for r in same.rows for d in r.figures.values())
