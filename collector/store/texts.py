"""The searchable texts of traces. All of it blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ...processors.assemble import SECOND, TraceKey
from ...processors.searchable import searchable
from ...schemas.columns import Row
from ...schemas.judged_rows import TEXT_COLUMNS, text_row
from ...schemas.trajectory import TraceState
from ...schemas.verdicts import DETECTORS, JudgedTrace, Outcome
from .client import Store
from .inserting import insert_rows, storing

LOST: Final = 3600 * SECOND
"""Traces that an earlier process judged in its last hour may lack their text."""

# Over all tenants: which texts are missing is the collector's own affair.
_MISSING: Final = f"""
WITH (SELECT max(JudgedAt) FROM traces WHERE JudgedAt < {{before:UInt64}}) AS last
SELECT tenant, TraceId FROM traces FINAL
WHERE JudgedAt + {{lost:UInt64}} > last AND JudgedAt < {{before:UInt64}} AND State != 'open' AND JoinedTo = ''
AND (tenant, TraceId) NOT IN (SELECT tenant, TraceId FROM texts WHERE JudgedAt + {{lost:UInt64}} > last)
AND (tenant, TraceId) NOT IN
(
    SELECT tenant, TraceId FROM judgements FINAL
    WHERE SubjectKind = 'trace' AND Judge = '{DETECTORS}' AND Outcome = '{Outcome.FILTERED}'
    AND JudgedAt + {{lost:UInt64}} > last
)
ORDER BY JudgedAt DESC LIMIT {{limit:UInt64}}
"""


@dataclass(frozen=True, slots=True)
class TraceText:
    """The text of the trace `key`, as it had arrived through `received_through` (unix nanos)."""

    key: TraceKey
    received_through: int
    row: Row
    size: int
    """Characters."""


def text_of(judged: JudgedTrace) -> TraceText | None:
    """A text is written once a trace is complete, and a joined run's with its first trace; None for any other."""
    trace = judged.trace
    filtered = judged.judgement.outcome is Outcome.FILTERED
    if trace.state is TraceState.OPEN or trace.joined_to or filtered:
        return None
    text = searchable(trace)
    row = text_row(trace, judged.judgement, text)
    return TraceText((trace.tenant, trace.trace_id), judged.judgement.received_through, row, len(text))


class StoredTexts:
    """Texts of all tenants' traces."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def keep(self, texts: Sequence[TraceText]) -> None:
        """Store them, but for those of traces that were deleted since; an older one after a newer changes nothing.

        Raises:
            RetryableError: a passing failure; storing it again is safe.
            StoreError: something in it can never be stored.
        """
        changes = self._store.changes
        with storing("texts for search"), changes.writing():
            rows = (text.row for text in texts if changes.stays(text.key, text.received_through))
            insert_rows(self._store, "texts", TEXT_COLUMNS, rows)

    def missing(self, before: int, limit: int) -> list[TraceKey]:
        """Complete traces whose text a process that ended before then (unix nanos) did not store.

        Up to `limit`, the last judged first. Raises RetryableError, StoreError.
        """
        rows = self._store.rows(_MISSING, {"lost": LOST, "before": before, "limit": limit})
        return [(tenant, trace_id) for tenant, trace_id in rows]
