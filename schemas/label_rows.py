"""Human labels as ClickHouse rows: tables `annotations`, `human_scores` and `reviews`, there and back."""

from __future__ import annotations

from typing import Final

from .annotations import Annotation, HumanScore, Opinion, Review
from .columns import ColumnTable, enum_column, plain_columns
from .taxonomy import Dimension, Severity

ANNOTATIONS: Final = ColumnTable(
    Annotation,
    *plain_columns("tenant", "trace_id", "span_id", "id", "annotator", "taxonomy", "category"),
    enum_column("Severity", "severity", Severity),
    *plain_columns("evidence", "explanation", "withdrawn", "changed_at"),
    enum_column("Opinion", "opinion", Opinion),
    *plain_columns("finding_id", "judge", "agent_run_id", "fingerprint"),
)

SCORES: Final = ColumnTable(
    HumanScore,
    *plain_columns("tenant", "trace_id", "agent_run_id", "annotator"),
    enum_column("Dimension", "dimension", Dimension),
    *plain_columns("score", "explanation", "withdrawn", "changed_at"),
)

REVIEWS: Final = ColumnTable(
    Review,
    *plain_columns("tenant", "trace_id", "agent_run_id", "annotator", "stratum", "probability", "withdrawn"),
    *plain_columns("changed_at"),
)
