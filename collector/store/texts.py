"""The searchable texts of traces. All of it blocks."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from tracejury.processors.assemble import SECOND, AssemblerConfig, TraceKey
from tracejury.processors.searchable import searchable
from tracejury.schemas.columns import Row
from tracejury.schemas.judged_rows import TEXT_COLUMNS, text_row
from tracejury.schemas.spans import Span
from tracejury.schemas.trajectory import TraceState
from tracejury.schemas.verdicts import DETECTORS, JudgedTrace, Outcome

from .deleted_elsewhere import delete_made
from .inserting import insert_rows, storing
from .judging import StoredJudging
from .scope import TENANT, Scope
from .shared_store import SharedStore
from .stored_trace import stored_trace

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


_JUDGED_AT: Final = f"SELECT JudgedAt FROM traces FINAL WHERE {TENANT} AND TraceId = {{trace_id:String}}"


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
    """Texts of all tenants' traces. `config`, `ours`: as in judging; `clock`: unix nanos."""

    def __init__(
        self,
        store: SharedStore,
        config: AssemblerConfig | None = None,
        ours: Callable[[Span], bool] = lambda _span: False,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._store, self._config, self._ours, self._clock = store, config or AssemblerConfig(), ours, clock

    def keep(self, texts: Sequence[TraceText]) -> None:
        """Store them, but for those of traces that were deleted since; an older one after a newer changes nothing.

        Raises:
            RetryableError: a passing failure; storing it again is safe.
            StoreError: something in it can never be stored.
        """
        deletions = self._store.deletions
        with storing("texts for search"), deletions.writing():
            staying = [text for text in texts if deletions.stays(text.key, text.received_through)]
            insert_rows(self._store, "texts", TEXT_COLUMNS, (text.row for text in staying))
        delete_made(self._store, {text.key: text.received_through for text in staying})

    def read(self, key: TraceKey) -> TraceText | None:
        """The text of a judged trace, made again from its spans; None where it has none any more.

        Raises RetryableError, StoreError.
        """
        tenant, trace_id = key
        judged = Scope(self._store, tenant).select(_JUDGED_AT, trace_id=trace_id)
        trace = stored_trace(
            StoredJudging(self._store, tenant), trace_id, tenant, self._config, self._clock(), self._ours
        )
        if not judged or trace is None or trace.trace_id != trace_id:
            return None
        text = searchable(trace)
        row = (tenant, trace_id, text, judged[0][0], trace.received_through)
        return TraceText(key, trace.received_through, row, len(text))

    def missing(self, before: int, limit: int) -> list[TraceKey]:
        """Complete traces whose text a process that ended before then (unix nanos) did not store.

        Up to `limit`, the last judged first. Raises RetryableError, StoreError.
        """
        rows = self._store.rows(_MISSING, {"lost": LOST, "before": before, "limit": limit})
        return [(tenant, trace_id) for tenant, trace_id in rows]
