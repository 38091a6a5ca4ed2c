"""Judges against annotators: hand-counted confusion and coverage, adjudicated and not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.judges.agreement import Annotated, Predicted
from tracejury.judges.measures.confusion import Confusion
from tracejury.judges.measures.judge_agreement import ALL, JudgeAgreement, JudgeConfusion, judge_agreement
from tracejury.judges.measures.matching import Basis, Catch, Level, Match, catches


def error(trace: str, span: str, impact: str, *dimensions: str) -> Annotated:
    return Annotated(trace, span, "Formatting Errors", impact, dimensions)


def finding(trace: str, span: str, *dimensions: str, elsewhere: tuple[str, ...] = (), judge: str = "j") -> Predicted:
    return Predicted(trace, span, "Formatting Errors", judge, dimensions=dimensions, elsewhere=elsewhere)


def yes(error: int, finding: int) -> Match:
    return Match(error, finding, caught=True)


def no(error: int, finding: int) -> Match:
    return Match(error, finding, caught=False)


ERRORS = [
    error("t", "a", "HIGH", "EE", "TC"),
    error("t", "b", "LOW", "LC"),
    error("t", "c", "MEDIUM"),
    error("u", "a", "HIGH", "LC", "EE"),
]
FINDINGS = [
    finding("t", "a", "EE"),
    finding("t", "x", "LC", elsewhere=("b",)),
    finding("t", "c", "TC"),
    finding("u", "z", "LC"),
]
MATCHES = [yes(0, 0), yes(1, 1), yes(2, 1), no(2, 2), yes(3, 3)]
"""The LC finding at t/x speaks of the errors at b (LC) and c (nobody's); the TC finding at c of something else."""


def row(result: JudgeAgreement, dimension: str, impact: str = ALL) -> JudgeConfusion:
    return next(r for r in result.judges if (r.dimension, r.impact) == (dimension, impact))


def test_confusion_over_annotated_errors_by_hand() -> None:
    """Mapped and caught is a true positive, caught though mapped to others a false one; localised is counted apart."""
    result = judge_agreement(ERRORS, FINDINGS, MATCHES)
    assert row(result, "LC").caught == Confusion(tp=2, fp=1, fn=0, tn=1)
    assert row(result, "LC").localised == Confusion(tp=0, fp=0, fn=2, tn=2)
    assert row(result, "EE").caught == row(result, "EE").localised == Confusion(tp=1, fp=0, fn=1, tn=2)
    assert row(result, "TC").caught == Confusion(tp=0, fp=0, fn=1, tn=3)
    assert row(result, "GF").caught == Confusion(tn=4)
    assert row(result, "LC").judge == "logical-consistency"


def test_impacts_part_the_errors() -> None:
    """The rows of LOW, MEDIUM and HIGH add up to the row of all; the impact of an error decides, not a finding's."""
    result = judge_agreement(ERRORS, FINDINGS, MATCHES)
    parts = [row(result, "LC", impact) for impact in ("HIGH", "MEDIUM", "LOW")]
    assert [p.caught for p in parts] == [Confusion(tp=1, tn=1), Confusion(fp=1), Confusion(tp=1)]
    assert sum((p.caught for p in parts), Confusion()) == row(result, "LC").caught
    assert row(result, "LC", "HIGH").mapped == 1


def test_coverage_by_any_judge() -> None:
    """Caught by content; localised at its span; nearby where a finding names the span only as where it showed."""
    result = judge_agreement(ERRORS, FINDINGS, MATCHES)
    assert [(c.impact, c.errors, c.caught, c.localised, c.nearby) for c in result.coverage] == [
        ("all", 4, 4, 1, 2),
        ("HIGH", 2, 2, 1, 1),
        ("MEDIUM", 1, 1, 0, 0),
        ("LOW", 1, 1, 0, 1),
    ]
    every = result.coverage[0]
    assert (every.caught_share, every.localised_share, every.nearby_share) == (1.0, 0.25, 0.5)
    assert every.intervals["caught"] == (1.0, 1.0)


def test_without_adjudication_caught_is_what_is_localised() -> None:
    """Every finding at an error's span counts, whatever it says; the result says on what basis it stands."""
    result = judge_agreement(ERRORS, FINDINGS)
    assert result.basis is Basis.SAME_SPAN
    assert "nobody adjudicated" in result.note
    assert result.pairs == 0
    assert row(result, "TC").caught == row(result, "TC").localised == Confusion(fp=1, fn=1, tn=2)
    assert row(result, "LC").caught == Confusion(fn=2, tn=2)
    assert all(c.caught == c.localised for c in result.coverage)
    assert [(c.localised, c.nearby) for c in result.coverage] == [(2, 3), (1, 1), (1, 1), (0, 1)]


def test_an_empty_adjudication_is_not_no_adjudication() -> None:
    """A matcher that found nothing decides that nothing is caught, not that the spans shall decide."""
    result = judge_agreement(ERRORS, FINDINGS, [])
    assert result.basis is Basis.ADJUDICATED
    assert result.coverage[0].caught == 0


def test_a_finding_of_several_dimensions_counts_for_each_of_their_judges() -> None:
    """A panel reports one decision once, with all its faults: none of the judges has missed it."""
    result = judge_agreement([ERRORS[0]], [finding("t", "a", "EE", "TC", judge="tool-calling")])
    assert row(result, "EE").caught == row(result, "TC").caught == Confusion(tp=1)


def test_a_judge_without_dimension_has_rows_by_its_name() -> None:
    """Somebody's own judge: it can only catch what is mapped to others."""
    result = judge_agreement(ERRORS, [finding("t", "a", judge="house-rules")])
    assert row(result, "house-rules").caught == Confusion(fp=1, tn=3)


@pytest.mark.parametrize(
    ("match", "expected"),
    [
        (yes(0, 0), Catch(Level.LOCALISED, nearby=True)),
        (yes(1, 1), Catch(Level.CAUGHT, nearby=True)),
        (yes(2, 1), Catch(Level.CAUGHT, nearby=False)),
        (no(2, 2), Catch(Level.MISSED, nearby=False)),
    ],
)
def test_levels(match: Match, expected: Catch) -> None:
    """2 at the annotated span, 1 elsewhere, 0 where the matcher says no, be it at the same span."""
    assert catches(ERRORS, FINDINGS, [match]).together(match.error) == expected


def test_the_best_of_several_findings_counts() -> None:
    """Caught elsewhere by one and at its span by another: localised; the order does not matter."""
    found = [finding("t", "x", "LC"), finding("t", "b", "LC")]
    for matches in ([yes(1, 0), yes(1, 1)], [yes(1, 1), yes(1, 0)]):
        assert catches(ERRORS, found, matches).of(1, "LC").level is Level.LOCALISED


def test_a_pair_decided_twice_counts_as_decided_last() -> None:
    """A person who corrects a matcher has the last word."""
    assert catches(ERRORS, FINDINGS, [yes(0, 0), no(0, 0)]).together(0).level is Level.MISSED


@pytest.mark.parametrize("match", [yes(4, 0), no(0, 4), yes(-1, 0), yes(0, -1)])
def test_matches_of_what_is_not_there_are_refused(match: Match) -> None:
    """An index beyond the ends, or from the end, is a mistake of whoever read the file."""
    with pytest.raises(IndexError):
        catches(ERRORS, FINDINGS, [match])


def test_a_match_across_traces_is_refused() -> None:
    """A finding speaks of its own trace only."""
    with pytest.raises(ValueError, match="two traces"):
        catches(ERRORS, FINDINGS, [no(3, 0)])


def test_the_same_span_id_in_another_trace_is_another_span() -> None:
    """Span ids are unique within a trace only."""
    assert judge_agreement([ERRORS[3]], [FINDINGS[0]]).coverage[0].localised == 0


def test_nothing_annotated() -> None:
    """No share is made up, and no interval."""
    result = judge_agreement([], [FINDINGS[0]])
    assert result.errors == 0
    assert all(c.caught_share is c.localised_share is c.nearby_share is None for c in result.coverage)
    assert all(r.caught == Confusion() and not r.intervals for r in result.judges)


SPANS = st.sampled_from("abc")
TRACES = st.sampled_from("tu")
DIMENSIONS = st.lists(st.sampled_from(["LC", "EE", "TC"]), max_size=3, unique=True).map(tuple)
IMPACT = st.sampled_from(["LOW", "MEDIUM", "HIGH"])
SOME_ERRORS = st.lists(
    st.builds(Annotated, TRACES, SPANS, st.just("Language-only"), IMPACT, DIMENSIONS), min_size=1, max_size=8
)
SOME_FINDINGS = st.lists(
    st.builds(
        Predicted, TRACES, SPANS, st.just("Language-only"), st.just("j"), st.just(1.0), DIMENSIONS, IMPACT,
        st.lists(SPANS, max_size=2).map(tuple),
    ),
    max_size=8,
)  # fmt: skip


@given(SOME_ERRORS, SOME_FINDINGS, st.data())
def test_every_error_is_in_one_cell_and_localised_is_caught(
    errors: list[Annotated], found: list[Predicted], data: st.DataObject
) -> None:
    """Cells add up to the errors of the impact; localised is nearby and caught; adjudicated, nearby is caught, too."""
    pairs = [(e, f) for e, a in enumerate(errors) for f, p in enumerate(found) if a.trace_id == p.trace_id]
    said = data.draw(st.none() | st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
    matches = None if said is None else [Match(*pair, caught=c) for pair, c in zip(pairs, said, strict=True)]
    result = judge_agreement(errors, found, matches)
    sizes = {c.impact: c.errors for c in result.coverage}
    assert sizes[ALL] == len(errors) == sum(sizes[i] for i in ("LOW", "MEDIUM", "HIGH"))
    for r in result.judges:
        assert r.caught.total == r.localised.total == sizes[r.impact]
        assert r.localised.tp <= r.caught.tp
        assert r.localised.fp <= r.caught.fp
        assert r.caught.tp + r.caught.fn == r.mapped
    for c in result.coverage:
        assert c.localised <= min(c.nearby, c.caught) <= max(c.nearby, c.caught) <= c.errors
        assert c.caught == c.localised if matches is None else c.nearby <= c.caught
