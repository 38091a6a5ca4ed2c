"""Human labels as ClickHouse rows: tables `annotations`, `human_scores` and `reviews`, there and back.

Each `*_row` gives one row in the order of its `*_COLUMNS`; each `*_from_row` takes one in that order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from .annotations import Annotation, HumanScore, Opinion, Review
from .judged_rows import Row
from .taxonomy import Dimension, Severity

ANNOTATION_COLUMNS: Final = (
    "tenant", "TraceId", "SpanId", "Id", "Annotator", "Taxonomy", "Category", "Severity", "Evidence", "Explanation",
    "Withdrawn", "ChangedAt", "Opinion", "FindingId", "Judge", "AgentRunId", "Fingerprint",
)  # fmt: skip

SCORE_COLUMNS: Final = (
    "tenant", "TraceId", "AgentRunId", "Annotator", "Dimension", "Score", "Explanation", "Withdrawn", "ChangedAt",
)  # fmt: skip

REVIEW_COLUMNS: Final = (
    "tenant", "TraceId", "AgentRunId", "Annotator", "Stratum", "Probability", "Withdrawn", "ChangedAt",
)  # fmt: skip


def annotation_row(annotation: Annotation) -> Row:
    """One error that a person sees, or does not."""
    a = annotation
    return (
        a.tenant, a.trace_id, a.span_id, a.id, a.annotator, a.taxonomy, a.category, a.severity.value, a.evidence,
        a.explanation, a.withdrawn, a.changed_at, a.opinion.value, a.finding_id, a.judge, a.agent_run_id,
        a.fingerprint,
    )  # fmt: skip


def annotation_from_row(row: Sequence[Any]) -> Annotation:
    """As it was stored."""
    return Annotation(
        tenant=row[0],
        trace_id=row[1],
        span_id=row[2],
        id=row[3],
        annotator=row[4],
        taxonomy=row[5],
        category=row[6],
        severity=Severity(row[7]),
        evidence=row[8],
        explanation=row[9],
        withdrawn=row[10],
        changed_at=row[11],
        opinion=Opinion(row[12]),
        finding_id=row[13],
        judge=row[14],
        agent_run_id=row[15],
        fingerprint=row[16],
    )


def score_row(score: HumanScore) -> Row:
    """A person's score of an agent run in one dimension."""
    s = score
    return (
        s.tenant, s.trace_id, s.agent_run_id, s.annotator, s.dimension.value, s.score, s.explanation, s.withdrawn,
        s.changed_at,
    )  # fmt: skip


def score_from_row(row: Sequence[Any]) -> HumanScore:
    """As it was stored."""
    return HumanScore(
        tenant=row[0],
        trace_id=row[1],
        agent_run_id=row[2],
        annotator=row[3],
        dimension=Dimension(row[4]),
        score=row[5],
        explanation=row[6],
        withdrawn=row[7],
        changed_at=row[8],
    )


def review_row(review: Review) -> Row:
    """That a person has looked at an agent run."""
    r = review
    return (
        r.tenant, r.trace_id, r.agent_run_id, r.annotator, r.stratum, r.probability, r.withdrawn, r.changed_at,
    )  # fmt: skip


def review_from_row(row: Sequence[Any]) -> Review:
    """As it was stored."""
    return Review(
        tenant=row[0],
        trace_id=row[1],
        agent_run_id=row[2],
        annotator=row[3],
        stratum=row[4],
        probability=row[5],
        withdrawn=row[6],
        changed_at=row[7],
    )
