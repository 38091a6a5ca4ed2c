"""What is worth a look because somebody is wrong: each reason on its own, the strongest first. On the real store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from store_parts import TRACE_ID, a_finding, a_judged_subject, a_judged_trace, a_run

from tracejury.collector.labels.queue import disputed as newest_disputed
from tracejury.collector.labels.stored_labels import StoredLabels
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.scope import Scope
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.annotations import Annotation, Opinion, Review
from tracejury.schemas.findings import Finding, FindingState
from tracejury.schemas.queries.labels import Labelled, Purpose, QueueItem, QueueQuery
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.trajectory import TraceState
from tracejury.schemas.verdicts import Subject, SubjectKind

SURE = 0.9
THRESHOLD = 0.38
RUN = Subject(SubjectKind.AGENT_RUN, "run-1", TRACE_ID)


def disputed(store: SharedStore, annotator: str = "", **changes: Any) -> list[QueueItem]:
    values: dict[str, Any] = {
        "purpose": Purpose.LEARNING,
        "since": 0,
        "until": 2**63 - 1,
        "limit": 10,
        "annotator": annotator,
    }
    return list(StoredLabels(store).queue(QueueQuery(**(values | changes))))


def whys(store: SharedStore) -> list[str]:
    return [item.why for item in disputed(store)]


def opinion(finding: Finding, annotator: str, said: Opinion, **changes: Any) -> Annotation:
    values: dict[str, Any] = {
        "id": annotator + finding.id, "trace_id": finding.trace_id, "span_id": finding.span_id, "annotator": annotator,
        "category": finding.category, "severity": finding.severity, "opinion": said, "finding_id": finding.id,
        "judge": finding.judge, "agent_run_id": finding.agent_run_id, "changed_at": 1,
    }  # fmt: skip
    return Annotation(**(values | changes))


def found(store: SharedStore, *findings: Finding, **trace: Any) -> None:
    StoredJudging(store).save([a_judged_trace(*findings, **trace)])


def test_nothing_is_disputed_about_what_is_sure(store: SharedStore) -> None:
    """A run without findings, and one that only detectors looked at and are sure of."""
    found(store, trace_id="a" * 32)
    found(store, a_finding(confidence=SURE))
    assert disputed(store) == []


def test_people_disagree_with_a_finding(store: SharedStore) -> None:
    """Disagree and other-span are disputes, agree is none, nor is what was withdrawn."""
    finding = a_finding(confidence=SURE)
    found(store, finding)
    labels = StoredLabels(store)
    labels.save(Labelled([opinion(finding, "ann", Opinion.AGREE)]))
    assert whys(store) == []
    labels.save(Labelled([opinion(finding, "ann", Opinion.OTHER_SPAN, span_id="c" * 16, changed_at=2)]))
    assert whys(store) == ["ann disagrees with what loops found (Resource Abuse)"]
    labels.save(Labelled([opinion(finding, "ann", Opinion.OTHER_SPAN, withdrawn=True, changed_at=3)]))
    assert whys(store) == []


def test_people_contradict_each_other(store: SharedStore) -> None:
    """Goes before one who disagrees."""
    finding = a_finding(confidence=SURE)
    found(store, finding)
    said = [opinion(finding, "ann", Opinion.AGREE), opinion(finding, "bob", Opinion.DISAGREE)]
    StoredLabels(store).save(Labelled(said))
    assert whys(store) == ["people say agree and disagree of what loops found (Resource Abuse)"]


def test_a_dispute_ends_with_its_finding(store: SharedStore) -> None:
    """What is retracted needs nobody's look."""
    finding = a_finding(confidence=SURE)
    found(store, finding)
    StoredLabels(store).save(Labelled([opinion(finding, "ann", Opinion.DISAGREE)]))
    found(store, retracted=(a_finding(confidence=SURE, state=FindingState.RETRACTED),), judged_at=2)
    assert whys(store) == []


@pytest.mark.parametrize(
    ("score", "severity", "why"),
    [
        (3, Severity.HIGH, "goal-fulfilment scores it 3 of 3 and names an error of weight"),
        (3, Severity.LOW, ""),
        (2, Severity.HIGH, ""),
        (0, Severity.HIGH, ""),
        (3, None, ""),
        (2, None, ""),
        (1, None, "goal-fulfilment scores it 1 of 3 and names no error of weight"),
        (0, None, "goal-fulfilment scores it 0 of 3 and names no error of weight"),
        (0, Severity.LOW, "goal-fulfilment scores it 0 of 3 and names no error of weight"),
    ],
)
def test_a_score_contradicts_findings(store: SharedStore, score: int, severity: Severity | None, why: str) -> None:
    """The best score beside errors of weight, or one of the two worst beside none."""
    found(store)
    findings = [a_finding(judge="goal-fulfilment", severity=severity, confidence=SURE)] if severity else []
    StoredLlmJudging(store).save([a_judged_subject("goal-fulfilment", *findings, score=score, subject=RUN)])
    assert whys(store) == ([why] if why else [])


def test_different_errors_at_one_span(store: SharedStore) -> None:
    """Two judges that name two categories; one judge that names two, or two that name one, are of one mind."""
    one = a_finding(confidence=SURE)
    found(store, one, a_finding(confidence=SURE, category="Formatting Errors"))
    same = a_finding(judge="other", confidence=SURE, span_id="c" * 16)
    StoredLlmJudging(store).save([a_judged_subject("other", same, subject=RUN)])
    assert [w for w in whys(store) if w.startswith("different")] == []
    other = a_finding(judge="other", category="Goal Deviation", confidence=SURE)
    StoredLlmJudging(store).save([a_judged_subject("other", other, subject=RUN, judged_at=2)])
    claims = "loops: Formatting Errors, loops: Resource Abuse, other: Goal Deviation"
    assert whys(store) == [f"different errors are seen at span {one.span_id} ({claims})"]


def test_detectors_alone(store: SharedStore) -> None:
    """Where LLM judges looked at the run and see nothing at that span; not where none looked."""
    finding = a_finding(confidence=SURE)
    found(store, finding)
    assert whys(store) == []
    StoredLlmJudging(store).save([a_judged_subject("other", subject=RUN)])
    assert whys(store) == [f"loops found Resource Abuse at span {finding.span_id}, where no LLM judge sees an error"]


@pytest.mark.parametrize(
    ("confidence", "why"),
    [
        (THRESHOLD, "loops is unsure of Resource Abuse (confidence 0.38)"),
        (0.29, "loops is unsure of Resource Abuse (confidence 0.29)"),
        (0.47, "loops is unsure of Resource Abuse (confidence 0.47)"),
        (0.27, ""),
        (0.5, ""),
    ],
)
def test_confidence_near_the_threshold(store: SharedStore, confidence: float, why: str) -> None:
    """Within a tenth of it, on either side."""
    found(store, a_finding(confidence=confidence))
    assert whys(store) == ([why] if why else [])


def test_each_run_once_by_its_strongest_reason(store: SharedStore) -> None:
    """The weaker reasons of others follow; the limit holds over all of them together."""
    people, unsure = a_finding(confidence=0.4), a_finding(confidence=0.4, trace_id="e" * 32)
    found(store, people)
    found(store, unsure, trace_id="e" * 32)
    StoredLabels(store).save(Labelled([opinion(people, "ann", Opinion.DISAGREE)]))
    assert [(i.trace_id, i.why.split()[0]) for i in disputed(store)] == [(TRACE_ID, "ann"), ("e" * 32, "loops")]
    assert [i.trace_id for i in disputed(store, limit=1)] == [TRACE_ID]


def test_a_dispute_outlives_a_new_wording(store: SharedStore) -> None:
    """The finding that replaces the one that somebody disagreed with is as disputed."""
    old, new = a_finding(confidence=SURE), a_finding(confidence=SURE, evidence="in other words")
    found(store, old)
    labels = StoredLabels(store)
    labels.save(Labelled([opinion(old, "ann", Opinion.DISAGREE, fingerprint=old.fingerprint)]))
    found(store, new, retracted=(replace(old, state=FindingState.RETRACTED),), judged_at=2)
    assert whys(store) == ["ann disagrees with what loops found (Resource Abuse)"]
    (quality,) = labels.quality(0, 2**63 - 1)
    assert (quality.findings, quality.agreed) == (1, 0)


def test_a_run_in_several_traces_is_one(store: SharedStore) -> None:
    """What was found and said at its other traces counts where the run shows."""
    other = a_finding(confidence=SURE, trace_id="e" * 32)
    found(store)
    found(store, other, trace_id="e" * 32, joined_to=TRACE_ID)
    said = [opinion(other, "ann", Opinion.AGREE), opinion(other, "bob", Opinion.DISAGREE)]
    labels = StoredLabels(store)
    labels.save(Labelled(said))
    assert [(i.trace_id, i.why.split()[0]) for i in disputed(store)] == [(TRACE_ID, "people")]
    assert [(s.name, s.size) for s in labels.strata(0, 2**63 - 1)] == [("found/-/shop", 1)]
    labels.save(Labelled([opinion(other, "bob", Opinion.AGREE, changed_at=2)]))
    (quality,) = labels.quality(0, 2**63 - 1)
    assert (quality.judge, quality.findings, quality.agreed) == ("loops", 1, 1)


def test_of_many_runs_the_newest_and_those_with_opinions(store: SharedStore) -> None:
    """What a person said is never too old to be looked at; of the rest the newest runs are."""
    old, middle, new = (a_finding(confidence=0.4, trace_id=char * 32) for char in "cde")
    for at, finding in enumerate((old, middle, new), 1):
        found(store, finding, trace_id=finding.trace_id, received=at)
    scope, query = Scope(store), QueueQuery(Purpose.LEARNING, 0, 2**63 - 1, 10)
    assert [i.trace_id for i in newest_disputed(scope, query, newest=2)] == [middle.trace_id, new.trace_id]
    StoredLabels(store).save(Labelled([opinion(old, "ann", Opinion.DISAGREE)]))
    assert [i.trace_id for i in newest_disputed(scope, query, newest=2)] == [old.trace_id, new.trace_id]


REVIEWED = Review(trace_id=TRACE_ID, agent_run_id="run-1", annotator="ann", changed_at=1)


@pytest.mark.parametrize(
    ("prepare", "shown"),
    [
        (lambda store: found(store, a_finding(confidence=0.4), runs=(a_run(id="run-1"),)), True),
        (lambda store: found(store, a_finding(confidence=0.4), state=TraceState.OPEN), False),
        (lambda store: found(store, a_finding(confidence=0.4, agent_run_id="")), False),
        (lambda store: found(store, a_finding(confidence=0.4), service="other"), False),
        (lambda store: found(store, a_finding(confidence=0.4), received=5), False),
    ],
)
def test_what_is_asked_for(store: SharedStore, prepare: Callable[[SharedStore], None], shown: bool) -> None:  # noqa: FBT001  a parameter of the table
    """Closed traces of that service and time; findings in agent runs; what the annotator has not reviewed."""
    prepare(store)
    assert bool(disputed(store, "bob", service="shop", until=5)) == shown
    StoredLabels(store).save(Labelled(reviews=[REVIEWED]))
    assert bool(disputed(store, "bob", service="shop", until=5)) == shown
    assert disputed(store, "ann", service="shop", until=5) == []


def test_hostile_text_is_one_short_line(store: SharedStore) -> None:
    """What a finding quotes of a trace cannot write lines of its own, nor long ones."""
    found(store, a_finding(confidence=0.4, category="x\n\r\n" * 5_000, judge="'; DROP TABLE findings; --"))
    (why,) = whys(store)
    assert "\n" not in why
    assert len(why) <= 300
