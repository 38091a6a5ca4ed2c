"""What a deletion has removed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from .columns import ColumnTable, StoredColumn, array_column, enum_column, plain_columns


class DeletionKind(StrEnum):
    """What was asked for."""

    TRACE = "trace"
    SESSION = "session"
    SERVICE = "service"
    USER = "user"


@dataclass(frozen=True, slots=True)
class DeletionReceipt:
    """One deletion; it names nobody. `at` and `refused_until`: unix nanos.

    `rows` were deleted, by table; `rows_left`: those that were found afterwards. `dead_letters`: files that were
    removed or rewritten. Until `refused_until` spans of these traces are left out. `sent_to`: backends and webhooks
    that were told of some of them, and keep what they got.
    """

    tenant: str
    receipt_id: str
    at: int
    kind: DeletionKind
    traces: int
    rows: Mapping[str, int]
    rows_left: int
    dead_letters: int
    refused_until: int
    sent_to: Sequence[str]


RECEIPTS = ColumnTable(
    DeletionReceipt,
    StoredColumn("tenant", "tenant"),
    StoredColumn("Id", "receipt_id"),
    StoredColumn("At", "at"),
    enum_column("Kind", "kind", DeletionKind),
    *plain_columns("traces", "rows", "rows_left", "dead_letters", "refused_until"),
    array_column("SentTo", "sent_to"),
)
