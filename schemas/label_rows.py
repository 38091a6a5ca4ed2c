"""Human labels as ClickHouse rows: tables `annotations`, `human_scores` and `reviews`, there and back."""

from __future__ import annotations

from typing import Final

from .annotations import Annotation, HumanScore, Opinion, Review
from .columns import ColumnTable, StoredColumn, enum_column
from .taxonomy import Dimension, Severity

ANNOTATIONS: Final = ColumnTable(
    Annotation,
    StoredColumn("tenant", "tenant"),
    StoredColumn("TraceId", "trace_id"),
    StoredColumn("SpanId", "span_id"),
    StoredColumn("Id", "id"),
    StoredColumn("Annotator", "annotator"),
    StoredColumn("Taxonomy", "taxonomy"),
    StoredColumn("Category", "category"),
    enum_column("Severity", "severity", Severity),
    StoredColumn("Evidence", "evidence"),
    StoredColumn("Explanation", "explanation"),
    StoredColumn("Withdrawn", "withdrawn"),
    StoredColumn("ChangedAt", "changed_at"),
    enum_column("Opinion", "opinion", Opinion),
    StoredColumn("FindingId", "finding_id"),
    StoredColumn("Judge", "judge"),
    StoredColumn("AgentRunId", "agent_run_id"),
    StoredColumn("Fingerprint", "fingerprint"),
)

SCORES: Final = ColumnTable(
    HumanScore,
    StoredColumn("tenant", "tenant"),
    StoredColumn("TraceId", "trace_id"),
    StoredColumn("AgentRunId", "agent_run_id"),
    StoredColumn("Annotator", "annotator"),
    enum_column("Dimension", "dimension", Dimension),
    StoredColumn("Score", "score"),
    StoredColumn("Explanation", "explanation"),
    StoredColumn("Withdrawn", "withdrawn"),
    StoredColumn("ChangedAt", "changed_at"),
)

REVIEWS: Final = ColumnTable(
    Review,
    StoredColumn("tenant", "tenant"),
    StoredColumn("TraceId", "trace_id"),
    StoredColumn("AgentRunId", "agent_run_id"),
    StoredColumn("Annotator", "annotator"),
    StoredColumn("Stratum", "stratum"),
    StoredColumn("Probability", "probability"),
    StoredColumn("Withdrawn", "withdrawn"),
    StoredColumn("ChangedAt", "changed_at"),
)
