"""Human labels as JSON."""

from __future__ import annotations

from ...schemas.annotations import Annotation, HumanScore, Review
from ...schemas.queries.labels import JudgeQuality, QueueItem, Stratum
from ...schemas.rates import Estimate
from ...schemas.text.moments import iso_time
from ...schemas.wire.labels import (
    AnnotationJson,
    EstimateJson,
    HumanScoreJson,
    JudgeQualityJson,
    QueueItemJson,
    ReviewJson,
    StratumJson,
)


def present_annotation(annotation: Annotation) -> AnnotationJson:
    """What a person says of a finding, or an error that none names."""
    a = annotation
    return {
        "kind": "annotation",
        "id": a.id,
        "opinion": a.opinion.value,
        "annotator": a.annotator,
        "trace_id": a.trace_id,
        "span_id": a.span_id,
        "agent_run_id": a.agent_run_id or None,
        "finding_id": a.finding_id or None,
        "judge": a.judge or None,
        "fingerprint": a.fingerprint or None,
        "taxonomy": a.taxonomy,
        "category": a.category,
        "severity": a.severity.value,
        "evidence": a.evidence,
        "explanation": a.explanation,
        "withdrawn": a.withdrawn,
        "changed_at": iso_time(a.changed_at),
    }


def present_score(score: HumanScore) -> HumanScoreJson:
    """A person's score of a run."""
    s = score
    return {
        "kind": "score",
        "annotator": s.annotator,
        "trace_id": s.trace_id,
        "agent_run_id": s.agent_run_id,
        "dimension": s.dimension.value,
        "score": s.score,
        "explanation": s.explanation,
        "withdrawn": s.withdrawn,
        "changed_at": iso_time(s.changed_at),
    }


def present_review(review: Review) -> ReviewJson:
    """That a person looked at a run."""
    r = review
    return {
        "kind": "review",
        "annotator": r.annotator,
        "trace_id": r.trace_id,
        "agent_run_id": r.agent_run_id,
        "stratum": r.stratum or None,
        "probability": r.probability or None,
        "withdrawn": r.withdrawn,
        "changed_at": iso_time(r.changed_at),
    }


def present_label(label: Annotation | HumanScore | Review) -> AnnotationJson | HumanScoreJson | ReviewJson:
    """Any of them."""
    match label:
        case Annotation():
            return present_annotation(label)
        case HumanScore():
            return present_score(label)
        case Review():
            return present_review(label)


def present_item(item: QueueItem) -> QueueItemJson:
    """A run to look at."""
    return {
        "trace_id": item.trace_id,
        "agent_run_id": item.agent_run_id,
        "service": item.service,
        "agent": item.agent,
        "why": item.why,
        "stratum": item.stratum or None,
        "probability": item.probability or None,
    }


def present_stratum(stratum: Stratum) -> StratumJson:
    """Its sizes."""
    return {
        "name": stratum.name,
        "size": stratum.size,
        "reviewed": stratum.reviewed,
        "waiting": stratum.waiting,
    }


def present_quality(quality: JudgeQuality) -> JudgeQualityJson:
    """A judge's figures."""
    return {
        "judge": quality.judge,
        "findings": quality.findings,
        "agreed": quality.agreed,
        "localised": quality.localised,
        "precision": _estimate(quality.precision),
        "errors": quality.errors,
        "found": quality.found,
        "recall": _estimate(quality.recall),
        "drawn": quality.drawn,
    }


def _estimate(estimate: Estimate | None) -> EstimateJson | None:
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high} if estimate else None
