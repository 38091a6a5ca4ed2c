"""Errors labelled by their ids, over a real store: what is stored, what is shown, and what becomes of it later."""

from __future__ import annotations

from dataclasses import replace

import pytest
from store_parts import TRACE_ID, a_finding, a_judged_trace, a_run
from stored_readers import stored_reader

from tracejury.collector.labels.labelling import Labelling
from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.judges.causes import led_by
from tracejury.processors.assemble import AssemblerConfig
from tracejury.schemas.annotations import Annotation, AnnotationDraft, ErrorLabel, Opinion
from tracejury.schemas.errors import NotFoundError
from tracejury.schemas.findings import Finding, FindingState
from tracejury.schemas.queries.labels import LabelQuery
from tracejury.schemas.queries.reader import Confidence, ErrorQuery

ALL = Confidence(0.0, 0.0)
ELSEWHERE = "e" * 16
LEAD = a_finding(judge="service-error", category="Service Errors", confidence=0.8, turn=1)
SAME = a_finding(judge="timeout-error", category="Timeout Issues", confidence=0.6, turn=1)
LATE = a_finding(judge="rate-error", category="Rate Limiting", confidence=0.9, turn=1)
"""Three findings of one error at one span; LATE leads once it is there."""
AWAY = a_finding(judge="raised-error", category="Service Errors", confidence=0.95, turn=1, span_id=ELSEWHERE)
"""Moves the error to its span."""
OTHER = a_finding(judge="service-error", category="Service Errors", confidence=0.7, turn=9, span_id=ELSEWHERE)
JOINS = a_finding(
    judge="limit-error", category="Resource Exhaustion", confidence=0.9, turn=1, also_at=(ELSEWHERE,)
)  # fmt: skip
"""Makes one error of LEAD and OTHER."""


class World:
    """One trace that is judged again and again, and the people who label it."""

    def __init__(self, store: SharedStore) -> None:
        self.reader: StoredReader = stored_reader(store, AssemblerConfig())
        self._judging, self._at = StoredJudging(store), 0

    def judged(self, *findings: Finding, retracted: tuple[Finding, ...] = ()) -> None:
        self._at += 1
        gone = tuple(replace(f, state=FindingState.RETRACTED) for f in retracted)
        self._judging.save(
            [a_judged_trace(*findings, retracted=gone, judged_at=self._at, trace_id=TRACE_ID, runs=(a_run(),))]
        )

    def say(self, some_id: str, opinion: Opinion, who: str = "ann") -> Annotation:
        self._at += 1
        labelling = Labelling(self.reader, self._at * 1_000_000)
        taken = labelling.take_opinion(AnnotationDraft(annotator=who, opinion=opinion, finding_id=some_id))
        labelling.save()
        return taken

    @property
    def labels(self) -> list[ErrorLabel | None]:
        """Of the errors as lists show them, by place."""
        found = self.reader.errors(ErrorQuery(ALL, 9))
        for one in found:
            view = self.reader.error(one.error.id, ALL)
            assert view is not None
            assert view.located.label is one.label
        return [one.label for one in sorted(found, key=lambda e: (e.error.turn or 0, e.error.id))]

    @property
    def said(self) -> set[tuple[str, Opinion]]:
        """The opinions that hold, with their judges."""
        return {(a.judge, a.opinion) for a in self.reader.labels.find(Annotation, LabelQuery(99))}


@pytest.fixture
def world(store: SharedStore) -> World:
    return World(store)


def test_an_error_is_labelled_by_its_id(world: World) -> None:
    """One label, on the lead; it covers the finding that joins later, and leads then."""
    world.judged(LEAD, SAME)
    assert world.labels == [None]
    assert world.say(led_by(LEAD), Opinion.AGREE).finding_id == LEAD.id
    assert world.said == {("service-error", Opinion.AGREE)}
    assert world.labels == [ErrorLabel.RIGHT]
    world.judged(LEAD, SAME, LATE)
    assert world.labels == [ErrorLabel.RIGHT]


def test_who_labels_an_error_anew_has_one_mind(world: World) -> None:
    """What was said to the contrary of other findings at its primary span is taken back; of others nothing is."""
    world.judged(LEAD, SAME)
    world.say(LEAD.id, Opinion.AGREE)
    world.say(SAME.id, Opinion.AGREE, "bob")
    world.judged(LEAD, SAME, LATE)
    world.say(led_by(LATE), Opinion.DISAGREE)
    assert world.said == {("rate-error", Opinion.DISAGREE), ("timeout-error", Opinion.AGREE)}
    assert world.labels == [ErrorLabel.CONTESTED]
    world.say(led_by(LATE), Opinion.DISAGREE, "bob")
    assert world.labels == [ErrorLabel.WRONG]


def test_an_earlier_id_labels_the_error_that_it_has_become(world: World) -> None:
    world.judged(LEAD)
    world.judged(LEAD, AWAY)
    assert world.say(led_by(LEAD), Opinion.DISAGREE).finding_id == AWAY.id
    assert world.labels == [ErrorLabel.WRONG]


def test_a_label_on_a_repeat_is_not_one_on_the_error(world: World) -> None:
    world.judged(LEAD, AWAY)
    world.say(LEAD.id, Opinion.AGREE)
    assert world.labels == [None]


def test_a_merge_after_a_person_labelled_both(world: World) -> None:
    """The label at the primary span stays that of the error; two persons' contrary words there contest it."""
    world.judged(LEAD, OTHER)
    world.say(led_by(LEAD), Opinion.AGREE)
    world.say(led_by(OTHER), Opinion.DISAGREE)
    assert world.labels == [ErrorLabel.RIGHT, ErrorLabel.WRONG]
    world.judged(LEAD, OTHER, JOINS)
    assert world.labels == [ErrorLabel.RIGHT]
    world.say(JOINS.id, Opinion.DISAGREE)
    assert world.labels == [ErrorLabel.CONTESTED]
    world.say(led_by(OTHER), Opinion.AGREE)
    assert world.labels == [ErrorLabel.RIGHT]


def test_findings_that_are_retracted_and_come_back(world: World) -> None:
    world.judged(LEAD, SAME)
    world.say(led_by(LEAD), Opinion.DISAGREE)
    world.judged(SAME, retracted=(LEAD,))
    assert world.labels == [ErrorLabel.WRONG]
    world.judged(retracted=(LEAD, SAME))
    assert world.labels == []
    gone = world.reader.error(led_by(LEAD), ALL)
    assert gone is not None
    assert (gone.located.error.state, gone.located.label) == (FindingState.RETRACTED, ErrorLabel.WRONG)
    world.judged(LEAD)
    assert world.labels == [ErrorLabel.WRONG]


def test_withdrawn_and_deleted_labels(world: World) -> None:
    world.judged(LEAD, SAME)
    taken = world.say(led_by(LEAD), Opinion.AGREE)
    world.say(SAME.id, Opinion.DISAGREE, "bob")
    assert world.labels == [ErrorLabel.CONTESTED]
    labelling = Labelling(world.reader, 10**12)
    labelling.withdraw(taken.id)
    labelling.save()
    assert world.labels == [ErrorLabel.WRONG]
    world.reader.labels.delete(LabelQuery(1, annotator="bob"))
    assert world.labels == [None]


def test_an_unknown_id_is_refused(world: World) -> None:
    world.judged(LEAD)
    with pytest.raises(NotFoundError, match="no finding 'ffff"):
        world.say("f" * 32, Opinion.AGREE)
