"""Labels on findings, read as those of errors: what they cover, and when people contradict each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st
from store_parts import TRACE_ID, a_finding

from tracejury.judges.grouping import group
from tracejury.judges.measures.error_labels import label_of, labels_on
from tracejury.judges.measures.people import SeenError, seen_errors
from tracejury.schemas.agent_errors import ErrorSummary, summary
from tracejury.schemas.annotations import Annotation, ErrorLabel, Opinion, opinion_id
from tracejury.schemas.findings import Finding

AGREE, DISAGREE, MOVED, MISSED = Opinion.AGREE, Opinion.DISAGREE, Opinion.OTHER_SPAN, Opinion.MISSED
RIGHT, WRONG, CONTESTED = ErrorLabel.RIGHT, ErrorLabel.WRONG, ErrorLabel.CONTESTED
S1, S2, S3 = "1" * 16, "2" * 16, "3" * 16

LEAD = a_finding(span_id=S1, judge="service-error", category="Service Errors", confidence=0.8)
SAME = a_finding(span_id=S1, judge="tool-calling", category="Service Errors", confidence=0.5)
CLOSE = a_finding(span_id=S1, judge="raised-error", category="Formatting Errors", confidence=0.4)
"""Three findings of one error at its primary span."""
REPEAT = a_finding(span_id=S2, judge="service-error", category="Service Errors", confidence=0.6)
"""Of the same turn and cause, at another span."""
SURER = a_finding(span_id=S2, judge="raised-error", category="Service Errors", confidence=0.95)
"""Likewise, and surer: the error moves to its span."""
OTHER = a_finding(span_id=S3, judge="service-error", category="Service Errors", confidence=0.8, turn=9)
JOINS = a_finding(span_id=S1, judge="timeout-error", category="Timeout Issues", confidence=0.9, also_at=(S3,))
"""Makes one error of LEAD and OTHER, led at S1."""
AGAIN = a_finding(span_id=S1, judge="schema-violation", category="Service Errors", turn=3)
"""Joins nothing but by its span."""
POOL = (LEAD, SAME, CLOSE, REPEAT, SURER, OTHER, JOINS, AGAIN)


def errors_of(*findings: Finding) -> list[ErrorSummary]:
    return [summary(error) for error in group(findings, ["run-1"])]


def said(opinion: Opinion, of: Finding, by: str = "ann", at: int = 1, span: str = "") -> Annotation:
    """What somebody says of a finding; MISSED: of an error of its category at its span, before it was found."""
    missed = opinion is MISSED
    return Annotation(
        id=f"missed-{by}-{of.id}" if missed else opinion_id("", by, of.id), trace_id=TRACE_ID,
        span_id=span if opinion is MOVED and span else of.span_id, annotator=by, category=of.category,
        severity=of.severity, taxonomy=of.taxonomy,
        changed_at=at, opinion=opinion, agent_run_id=of.agent_run_id, finding_id="" if missed else of.id,
        judge="" if missed else of.judge, fingerprint="" if missed else of.fingerprint,
    )  # fmt: skip


def labels(errors: Sequence[ErrorSummary], *annotations: Annotation) -> list[ErrorLabel | None]:
    """The label of each error."""
    found = labels_on(errors, annotations)
    return [label_of(found.get(error.id, ())) for error in errors]


def test_a_label_on_any_finding_at_the_primary_span_covers_the_error() -> None:
    errors = errors_of(LEAD, SAME, CLOSE, REPEAT)
    assert [set(e.findings) for e in errors] == [{f.id for f in (LEAD, SAME, CLOSE, REPEAT)}]
    for of in (LEAD, SAME, CLOSE):
        assert labels(errors, said(AGREE, of)) == [RIGHT]
        assert labels(errors, said(DISAGREE, of)) == [WRONG]
        assert labels(errors, said(MOVED, of, span=S3)) == [RIGHT]
    assert labels(errors, said(MISSED, LEAD)) == [RIGHT]


def test_a_label_on_a_repeat_does_not_cover_the_error() -> None:
    errors = errors_of(LEAD, REPEAT)
    assert labels(errors, said(AGREE, REPEAT), said(MOVED, REPEAT, "bob", span=S1)) == [None]


def test_a_finding_that_joins_later_is_covered() -> None:
    assert labels(errors_of(LEAD, SAME, AGAIN), said(DISAGREE, LEAD)) == [WRONG]


def test_a_label_stays_where_a_late_finding_moves_the_error() -> None:
    """It says nothing of the new primary span, and still that there is an error where it was."""
    errors = errors_of(LEAD, SURER)
    assert errors[0].span_id == S2
    assert labels(errors, said(AGREE, LEAD)) == [None]
    (one,) = seen_errors([said(AGREE, LEAD)], errors)
    assert (one.label, one.error) == (RIGHT, None)
    assert seen_errors([said(DISAGREE, LEAD)], errors) == ()


def test_people_and_one_person_may_contradict() -> None:
    errors = errors_of(LEAD, SAME)
    assert labels(errors, said(AGREE, LEAD), said(DISAGREE, SAME, "bob")) == [CONTESTED]
    assert labels(errors, said(AGREE, LEAD), said(DISAGREE, SAME)) == [CONTESTED]
    assert labels(errors, said(AGREE, LEAD), said(AGREE, SAME), said(DISAGREE, SAME, "bob")) == [CONTESTED]
    assert labels(errors, said(MISSED, LEAD), said(DISAGREE, LEAD, "bob")) == [CONTESTED]


def test_a_merge_after_a_person_labelled_both() -> None:
    """What was said at the primary span of the merged error holds; what was said of the other one does not cover it."""
    apart = errors_of(LEAD, OTHER)
    both = [said(AGREE, LEAD), said(DISAGREE, OTHER)]
    assert labels(apart, *both) == [RIGHT, WRONG]
    merged = errors_of(LEAD, OTHER, JOINS)
    assert len(merged) == 1
    assert labels(merged, *both) == [RIGHT]
    assert [one.label for one in seen_errors(both, merged)] == [RIGHT]
    one_span = errors_of(LEAD, AGAIN)
    assert labels(one_span, said(AGREE, LEAD), said(DISAGREE, AGAIN)) == [CONTESTED], "where both stand at one span"


def test_a_retracted_finding_leaves_its_label_to_the_error() -> None:
    """As long as nobody says otherwise of a finding that stands; whoever does has changed their mind."""
    errors = errors_of(SAME)
    assert labels(errors, said(AGREE, LEAD)) == [RIGHT]
    assert labels(errors, said(AGREE, LEAD, at=9), said(DISAGREE, SAME)) == [WRONG]
    assert labels(errors, said(AGREE, LEAD, "bob"), said(DISAGREE, SAME)) == [CONTESTED]
    assert labels(errors, said(MOVED, LEAD, span=S3)) == [RIGHT]
    assert labels(errors, said(AGREE, OTHER)) == [None]
    (one,) = seen_errors([said(AGREE, LEAD, at=9), said(DISAGREE, LEAD, "bob"), said(AGREE, SAME)], ())
    assert one.label is CONTESTED, "also where nothing stands any more"


def test_a_withdrawn_label_counts_for_nothing() -> None:
    errors = errors_of(LEAD, SAME)
    assert seen_errors([replace(said(AGREE, LEAD), withdrawn=True)], errors) == ()
    (one,) = seen_errors([replace(said(DISAGREE, LEAD), withdrawn=True), said(AGREE, SAME)], errors)
    assert one.label is RIGHT


def test_three_labelled_findings_are_one_error() -> None:
    found = seen_errors([said(AGREE, f) for f in (LEAD, SAME, CLOSE, REPEAT)], errors_of(LEAD, SAME, CLOSE, REPEAT))
    assert [one.label for one in found] == [RIGHT]


def test_a_run_that_only_relays_an_error_does_not_have_it() -> None:
    """Whoever agrees with what it repeats has not seen another error."""
    relayed = replace(REPEAT, agent_run_id="run-2", turn=4, also_at=())
    errors = errors_of(replace(LEAD, also_at=(S2,)), relayed)
    assert len(errors) == 1
    assert seen_errors([said(AGREE, relayed)], errors) == ()


ANNOTATIONS = st.lists(
    st.builds(
        said,
        st.sampled_from([AGREE, DISAGREE, MOVED, MISSED]),
        st.sampled_from(POOL),
        st.sampled_from(["ann", "bob"]),
        st.integers(1, 3),
        st.sampled_from(["", S3]),
    ),
    max_size=8,
    unique_by=lambda a: a.id,
)


@given(st.sets(st.sampled_from(POOL)), ANNOTATIONS, st.randoms(use_true_random=False))
def test_labels_and_errors_in_any_order(standing: set[Finding], annotations: list[Annotation], random: Random) -> None:
    """Labels on findings that stand cover what they are of, at its primary span alone; a contradiction contests it."""
    errors = errors_of(*standing)
    found = labels_on(errors, annotations)
    covering = [a.id for own in found.values() for a in own]
    assert len(covering) == len(set(covering))
    for error in errors:
        own = found.get(error.id, ())
        here = {f.id for f in standing if f.id in error.findings and f.span_id == error.span_id}
        ids = {f.id for f in standing}
        assert {a.id for a in own if a.finding_id in ids} == {a.id for a in annotations if a.finding_id in here}
        says = frozenset(a.opinion is not DISAGREE for a in own)
        assert label_of(own) is {frozenset(): None, frozenset({True}): RIGHT, frozenset({False}): WRONG}.get(
            says, CONTESTED
        )
    mixed, others = random.sample(annotations, len(annotations)), random.sample(errors, len(errors))
    assert labels_on(others, mixed) == found
    assert seen(seen_errors(mixed, others)) == seen(seen_errors(annotations, errors))


def seen(errors: Sequence[SeenError]) -> set[tuple[ErrorLabel, str, frozenset[str]]]:
    """Label, error and labels of each."""
    return {(one.label, one.error.id if one.error else "", frozenset(a.id for a in one.said)) for one in errors}
