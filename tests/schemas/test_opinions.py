"""Which opinions are of which findings: by id, and by fingerprint once a finding was worded anew."""

from __future__ import annotations

from typing import Any

from store_parts import a_finding

from tracejury.schemas.annotations import Annotation, Opinion
from tracejury.schemas.findings import Finding
from tracejury.schemas.opinions import opinions_on

OLD, NEW = a_finding(evidence="as it was"), a_finding(evidence="as it is")


def said(of: Finding, opinion: Opinion = Opinion.AGREE, annotator: str = "ann", **changes: Any) -> Annotation:
    values: dict[str, Any] = {
        "id": f"{annotator}-{of.id}", "trace_id": of.trace_id, "span_id": of.span_id, "annotator": annotator,
        "category": of.category, "severity": of.severity, "opinion": opinion, "finding_id": of.id, "judge": of.judge,
        "fingerprint": of.fingerprint,
    }  # fmt: skip
    return Annotation(**(values | changes))


def test_an_opinion_is_of_the_finding_that_it_names() -> None:
    """Of each annotator one, by annotator; what nobody spoke of is absent; missed errors are of no finding."""
    bob, ann = said(NEW, annotator="bob"), said(NEW, Opinion.DISAGREE)
    missed = said(NEW, Opinion.MISSED, annotator="cid", finding_id="")
    assert opinions_on([NEW, a_finding(category="Goal Deviation")], [bob, ann, missed]) == {NEW.id: (ann, bob)}


def test_it_outlives_a_new_wording() -> None:
    """The old finding holds no more: its opinion is of the one with its fingerprint."""
    assert OLD.fingerprint == NEW.fingerprint
    assert opinions_on([NEW], [said(OLD)]) == {NEW.id: (said(OLD),)}


def test_it_stays_with_its_finding_while_that_holds() -> None:
    """Two findings of one place and category that both hold are two."""
    assert opinions_on([OLD, NEW], [said(OLD)]) == {OLD.id: (said(OLD),)}


def test_what_is_said_of_the_new_wording_goes_before() -> None:
    """Of one annotator; another one's word on the old wording still counts; of two old ones the later."""
    later = said(OLD, Opinion.DISAGREE, id="z", changed_at=9)
    own, other = said(NEW), said(OLD, annotator="bob")
    assert opinions_on([NEW], [later, own, other]) == {NEW.id: (own, other)}
    assert opinions_on([NEW], [later, said(OLD, changed_at=3)]) == {NEW.id: (later,)}


def test_it_is_of_one_judge() -> None:
    """Another judge that names the same error has to earn its own agreement."""
    other = a_finding(judge="other", evidence="as it is")
    assert other.fingerprint == OLD.fingerprint
    assert opinions_on([other], [said(OLD)]) == {}


def test_another_span_does_not_lose_the_fingerprint() -> None:
    """The annotation stands at another span than the finding; the finding's fingerprint leads back."""
    moved = said(OLD, Opinion.OTHER_SPAN, span_id="0" * 16)
    assert opinions_on([NEW], [moved]) == {NEW.id: (moved,)}
