"""What holds of labelled runs, read from the store: which judge looked at which, and whose an error is."""

from __future__ import annotations

from collections.abc import Sequence

from store_parts import TRACE_ID, a_finding, a_judged_subject, a_judged_trace, a_run

from tracejury.collector.labels.stored_labels import StoredLabels
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.annotations import Annotation, Opinion, Review
from tracejury.schemas.findings import Finding
from tracejury.schemas.queries.labels import JudgeQuality, Labelled
from tracejury.schemas.verdicts import Subject, SubjectKind

RUNS = ("run-1", "run-2")
ELSEWHERE = "e" * 16
REVIEWS = [Review(trace_id=TRACE_ID, agent_run_id=run, annotator="ann", changed_at=1) for run in RUNS]


def judged(store: SharedStore, *findings: Finding) -> None:
    """A trace with two runs."""
    runs = (a_run(id=RUNS[0]), a_run(id=RUNS[1], parent_id=RUNS[0], role="sub-agent"))
    StoredJudging(store).save([a_judged_trace(*findings, runs=runs)])


def scores(store: SharedStore, judge: str, given: Sequence[int | None]) -> None:
    """What a judge gives each run; None: not applicable."""
    StoredLlmJudging(store).save(
        [
            a_judged_subject(judge, score=score, subject=Subject(SubjectKind.AGENT_RUN, run, TRACE_ID))
            for run, score in zip(RUNS, given, strict=True)
        ]
    )


def label(run: str, span: str, opinion: Opinion = Opinion.MISSED, of: Finding | None = None) -> Annotation:
    """What ann says."""
    about = of or a_finding(judge="")
    return Annotation(
        id=f"{run}-{span}", trace_id=TRACE_ID, span_id=span, annotator="ann", category=about.category,
        severity=about.severity, opinion=opinion, agent_run_id=run,
        finding_id=of.id if of else "", judge=about.judge, fingerprint=of.fingerprint if of else "", changed_at=1,
    )  # fmt: skip


def quality(store: SharedStore) -> dict[str, JudgeQuality]:
    """Of each judge."""
    return {one.judge: one for one in StoredLabels(store).quality(0, 2**63 - 1)}


def test_a_run_with_nothing_to_judge_is_in_no_recall(store: SharedStore) -> None:
    """A plan judge is not to blame for what went wrong in a run without a plan."""
    judged(store)
    scores(store, "plan-quality", (2, None))
    scores(store, "goal", (1, 1))
    errors = [label(run, f"{n}" * 16) for n, run in enumerate(RUNS, 1)]
    StoredLabels(store).save(Labelled(errors, (), REVIEWS))
    assert {name: one.errors for name, one in quality(store).items()} == {"goal": 2, "plan-quality": 1}


def test_an_error_of_another_run_is_wrong_here_and_missed_there(store: SharedStore) -> None:
    """No error of the run that the finding names; one of the run that it was moved to, which no finding names."""
    found = a_finding(agent_run_id=RUNS[0])
    judged(store, found)
    StoredLabels(store).save(Labelled([label(RUNS[1], ELSEWHERE, Opinion.OTHER_SPAN, found)], (), REVIEWS))
    one = quality(store)["loops"]
    assert (one.findings, one.agreed, one.errors, one.found) == (1, 0, 1, 0)


def test_an_error_of_another_span_of_its_run_is_right(store: SharedStore) -> None:
    """Only not at the right place, so that it was missed there."""
    found = a_finding(agent_run_id=RUNS[0])
    judged(store, found)
    StoredLabels(store).save(Labelled([label(RUNS[0], ELSEWHERE, Opinion.OTHER_SPAN, found)], (), REVIEWS))
    one = quality(store)["loops"]
    assert (one.findings, one.agreed, one.localised, one.errors, one.found) == (1, 1, 0, 1, 0)
