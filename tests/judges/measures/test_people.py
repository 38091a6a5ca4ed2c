"""What several people say of one place: agreement, contradiction, changed minds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tracejury.judges.measures.people import said_of_run, seen_errors
from tracejury.schemas.annotations import Annotation, ErrorLabel, Opinion
from tracejury.schemas.findings import fingerprint
from tracejury.schemas.taxonomy import Severity

AGREE, DISAGREE, MOVED, MISSED = Opinion.AGREE, Opinion.DISAGREE, Opinion.OTHER_SPAN, Opinion.MISSED
RIGHT, CONTESTED = ErrorLabel.RIGHT, ErrorLabel.CONTESTED


def said(opinion: Opinion, by: str, *, at: int = 1, span: str = "s1", withdrawn: bool = False) -> Annotation:
    """What somebody says of Goal Deviation at a span."""
    return Annotation(
        id=f"{by}-{at}-{span}", trace_id="t", span_id=span, annotator=by, category="Goal Deviation",
        severity=Severity.HIGH, changed_at=at, opinion=opinion,
        withdrawn=withdrawn,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("opinions", "label"),
    [
        ([AGREE], RIGHT),
        ([MISSED], RIGHT),
        ([MOVED], RIGHT),
        ([AGREE, MISSED, MOVED], RIGHT),
        ([DISAGREE], None),
        ([DISAGREE, DISAGREE], None),
        ([AGREE, DISAGREE], CONTESTED),
        ([AGREE, MISSED, DISAGREE], CONTESTED),
        ([AGREE, DISAGREE, DISAGREE], CONTESTED),
        ([], None),
    ],
)
def test_nobody_is_outvoted(opinions: list[Opinion], label: ErrorLabel | None) -> None:
    """Who agrees, moves or marks says yes; who disagrees says no; where both is said, the error is contested."""
    found = seen_errors(said(opinion, f"p{n}") for n, opinion in enumerate(opinions))
    assert [error.label for error in found] == ([] if label is None else [label])


def test_the_last_word_of_each_counts() -> None:
    """Whoever changed their mind has one vote, and none where they took it back."""
    changed = [said(DISAGREE, "ann", at=5), said(AGREE, "ann", at=3)]
    assert seen_errors(changed) == ()
    assert seen_errors([said(AGREE, "ann", withdrawn=True)]) == ()


def test_an_error_that_was_moved_to_another_run_is_that_runs() -> None:
    """Whoever moved it disagrees in the run of the finding, which has the error only as far as others see it there."""
    taxonomy = said(AGREE, "ann").taxonomy
    here = replace(said(AGREE, "ann"), agent_run_id="one")
    place = fingerprint("", "t", "s1", taxonomy, "Goal Deviation")
    moved = [
        replace(said(MOVED, who, span="s9"), agent_run_id="two", fingerprint=place, judge="j") for who in ("bob", "cy")
    ]
    labels = [
        [(error.said[0].span_id, error.label) for error in seen_errors(said_of_run(run, [here, *others]))]
        for run, others in (("one", moved[:0]), ("one", moved[:1]), ("one", moved), ("two", moved), ("three", moved))
    ]
    assert labels == [[("s1", RIGHT)], [("s1", CONTESTED)], [("s1", CONTESTED)], [("s9", RIGHT)], []]


def test_an_error_that_was_moved_within_its_run_stays_in_it() -> None:
    """The run has it, at another span."""
    moved = replace(said(MOVED, "bob", span="s2"), agent_run_id="one", fingerprint="any")
    assert said_of_run("one", [moved]) == (moved,)


def test_errors_at_different_spans_are_different() -> None:
    """By place, and each with those who see it."""
    first, second = seen_errors([said(AGREE, "ann", span="s2"), said(MISSED, "bob"), said(AGREE, "cy", span="s2")])
    assert [(a.span_id, a.annotator) for a in first.said] == [("s1", "bob")]
    assert [(a.span_id, a.annotator) for a in second.said] == [("s2", "ann"), ("s2", "cy")]
