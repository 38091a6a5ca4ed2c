"""Damage of a store: data parts that the engine set aside or that are gone, and traces that lost spans with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from .client import Store

_DETACHED: Final = """
SELECT table, name, path FROM system.detached_parts WHERE database = currentDatabase() AND reason LIKE '%broken%'
ORDER BY table, name
"""

# Traces that are one run are counted at its first, so a member only counts where nothing of it is left.
_LOST: Final = """
SELECT known.tenant, known.TraceId, known.Spans, stored.Spans
FROM
(
    SELECT tenant, TraceId, if(JoinedTo = '' AND NOT has(firsts, TraceId), toUInt64(Spans), 1) AS Spans
    FROM traces FINAL
    CROSS JOIN (SELECT groupUniqArray(JoinedTo) AS firsts FROM traces FINAL WHERE JoinedTo != '') AS joined
) AS known
LEFT JOIN (SELECT tenant, TraceId, uniqExact(SpanId) AS Spans FROM spans GROUP BY tenant, TraceId) AS stored
    ON known.tenant = stored.tenant AND known.TraceId = stored.TraceId
WHERE stored.Spans < known.Spans
ORDER BY known.tenant, known.TraceId
"""


@dataclass(frozen=True, slots=True)
class DetachedPart:
    """A part that the engine could not read at its start and set aside. `name`: with the engine's prefix."""

    table: str
    name: str
    path: str

    @property
    def part(self) -> str:
        """Its name as it was before."""
        return self.name.rpartition("start_")[2] if "start_" in self.name else self.name.partition("_")[2]


@dataclass(frozen=True, slots=True)
class LostSpans:
    """A judged trace of which fewer spans are stored than were judged."""

    tenant: str
    trace_id: str
    judged: int
    stored: int


def detached_parts(store: Store) -> list[DetachedPart]:
    """The parts that the engine set aside as broken. Raises RetryableError, StoreError."""
    return [DetachedPart(*row) for row in store.rows(_DETACHED)]


def lost_spans(store: Store) -> Sequence[LostSpans]:
    """Judged traces that lost spans, of all tenants; it reads the ids of all spans.

    Call it where parts are known to be lost: retention takes the oldest spans of a long trace, too. Raises
    RetryableError, StoreError.
    """
    return [LostSpans(*row) for row in store.rows(_LOST)]
