"""Calibration counts errors of the store, not their findings."""

from __future__ import annotations

from dataclasses import replace

from labels_world import StoredWorld, drawn_review
from store_parts import a_finding, a_judged_trace, a_run

from tracejury.collector.rates import StoredRates
from tracejury.collector.rates.calibration import ENOUGH
from tracejury.collector.rates.label_calibration import LabelCalibration
from tracejury.collector.rates.question import exact
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.annotations import Annotation, Opinion
from tracejury.schemas.findings import Finding
from tracejury.schemas.queries.labels import Labelled, Purpose, QueueQuery
from tracejury.schemas.rates import By, Population, RateQuery
from tracejury.schemas.taxonomy import TRAIL

RULES = {"service-error": "Service Errors", "timeout-error": "Timeout Issues", "rate-error": "Rate Limiting"}
"""Rules of one class of cause, with what they find; the first one is the surest."""


def test_an_error_of_three_labelled_findings_counts_once(store: SharedStore) -> None:
    """By category too: only that of its lead. Where they contradict each other its run tells nothing of it."""
    world = StoredWorld(store)
    judging = StoredJudging(store)
    found: dict[str, list[Finding]] = {}
    for n in range(2 * ENOUGH):
        trace_id = f"{n:032x}"
        found[trace_id] = [
            a_finding(
                trace_id=trace_id, agent_run_id="run-1", judge=judge, category=category, confidence=0.9 - place / 10,
            )
            for place, (judge, category) in enumerate(RULES.items())
        ]  # fmt: skip
        judging.save([a_judged_trace(*found[trace_id], received=100, trace_id=trace_id, runs=(a_run(),))])
    items = world.labels.queue(QueueQuery(Purpose.CALIBRATION, 0, 10_000, 2 * ENOUGH))
    reviews = [drawn_review(i, "ann", changed_at=5) for i in items]
    agreed = [
        Annotation(
            id=f.id, trace_id=f.trace_id, span_id=f.span_id, annotator="ann", category=f.category,
            severity=f.severity, changed_at=1, opinion=Opinion.AGREE,
            finding_id=f.id, judge=f.judge, fingerprint=f.fingerprint, agent_run_id="run-1",
        )
        for own in found.values() for f in own
    ]  # fmt: skip
    world.labels.save(Labelled(agreed, (), reviews))
    rates = StoredRates(store, calibrate=LabelCalibration(store, world.labels))
    answer = rates.ask(RateQuery(0, 10_000, calibrated=True, by=By.CATEGORY))
    assert [row.key for row in answer.rows] == [f"{TRAIL}/Service Errors"]
    assert answer.rows[0].rate.calibrated is not None
    assert answer.rows[0].rate.calibrated.value == 1.0
    calibrate = LabelCalibration(store, world.labels)
    question = exact(RateQuery(0, 10_000, calibrated=True, by=By.CATEGORY), Population.DETECTORS, frozenset())
    assert set(calibrate(question).groups) == {(0, f"{TRAIL}/Service Errors")}
    against = [replace(a, opinion=Opinion.DISAGREE, changed_at=9) for a in agreed if a.judge == "rate-error"][:5]
    world.labels.save(Labelled(against))
    assert len(calibrate(question).total) == 2 * ENOUGH - 5
