"""Human annotations: kept without limit of time, the latest change of each wins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ...schemas.annotations import Annotation
from ...schemas.taxonomy import Severity
from .client import Store
from .inserting import insert_rows, storing
from .scope import TENANT, Scope

_COLUMNS: Final = (
    "Id", "TraceId", "SpanId", "Annotator", "Category", "Severity", "Evidence", "Explanation", "Taxonomy", "Withdrawn",
    "ChangedAt", "tenant",
)  # fmt: skip


def save_annotations(store: Store, annotations: Sequence[Annotation]) -> None:
    """Store new or changed annotations; storing the same again changes nothing.

    Raises:
        RetryableError, StoreError: the store failed.
    """
    rows = [
        (
            a.id, a.trace_id, a.span_id, a.annotator, a.category, a.severity.value, a.evidence, a.explanation,
            a.taxonomy, a.withdrawn, a.changed_at, a.tenant,
        )
        for a in annotations
    ]  # fmt: skip
    with storing("annotations"):
        insert_rows(store, "annotations", _COLUMNS, rows)


def load_annotations(store: Store, trace_ids: Sequence[str], tenant: str = "") -> dict[str, list[Annotation]]:
    """The annotations that stand, by trace id, in the order of their spans' ids."""
    found: dict[str, list[Annotation]] = {}
    sql = (
        f"SELECT {', '.join(_COLUMNS)} FROM annotations FINAL WHERE {TENANT} "
        "AND TraceId IN {trace_ids:Array(String)} AND NOT Withdrawn ORDER BY SpanId, Id"
    )
    for row in Scope(store, tenant).select(sql, trace_ids=trace_ids):
        annotation = _annotation(row)
        found.setdefault(annotation.trace_id, []).append(annotation)
    return found


def _annotation(row: Sequence[Any]) -> Annotation:
    return Annotation(
        id=row[0],
        trace_id=row[1],
        span_id=row[2],
        annotator=row[3],
        category=row[4],
        severity=Severity(row[5]),
        evidence=row[6],
        explanation=row[7],
        taxonomy=row[8],
        withdrawn=row[9],
        changed_at=row[10],
        tenant=row[11],
    )
