"""The export progress of a trace at a backend, and its ClickHouse rows (table `exports`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from .columns import ColumnTable, StoredColumn, enum_column, plain_columns


class Passed(StrEnum):
    """The outcome of a trace at a backend."""

    SENT = "sent"
    SAMPLED_OUT = "sampled-out"
    GIVEN_UP = "given-up"


@dataclass(frozen=True, slots=True)
class ExportProgress:
    """How much of a trace a backend has.

    `seen`: `judged_at` of the latest judgement that this accounts for, `at`: when, `received_at`: of the trace; all
    unix nanos. `items`: a hash of what was sent by a hash of its id, both below 2^64.
    """

    trace_id: str
    seen: int
    outcome: Passed
    at: int
    received_at: int
    items: Mapping[int, int] = field(default_factory=dict)


_EXPORTS: Final = ColumnTable(
    ExportProgress,
    *plain_columns("trace_id", "seen"),
    enum_column("Outcome", "outcome", Passed),
    StoredColumn("Items.Id", "items", list),
    StoredColumn("Items.Digest", "items", lambda items: list(items.values())),
    *plain_columns("at", "received_at"),
)
EXPORT_COLUMNS: Final = (*_EXPORTS.names, "tenant", "Backend")
export_row = _EXPORTS.row
