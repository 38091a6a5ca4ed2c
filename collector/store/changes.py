"""What other processes stored on the same server: a cursor over the time at which the server got each insert.

Rows become readable in no certain order: an insert is stamped when it begins, and a replica may have it later. So each
reading goes back over a time that was read before, and remembers what it gave of that. No process's clock counts. What
becomes readable later than `OVERLAP` after its stamp is found by the sweep for what nobody judged (`unjudged.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tracejury.processors.assemble import SECOND, TraceKey
from tracejury.schemas.verdicts import DETECTORS

from .shared_store import SharedStore

OVERLAP: Final = 60 * SECOND
"""How late a row may become readable: a retried insert, or a replica that lags, takes seconds."""
OFTEN: Final = 3 * SECOND
"""How far most readings go back: nearly all rows are readable within a second, and fewer are read again."""
START: Final = 2 * OVERLAP
"""How far the first reading goes back: what was stored before is found by the sweeps of a start."""
WIDE_EVERY: Final = 10 * SECOND
"""How often a reading goes back over all of `OVERLAP`."""

# Partitions go by the time of arrival, which is a process's clock and a day off at most: it spares looks at old parts.
_NEW: Final = """StoredBy != {own:String} AND TraceId != '' AND StoredAt >= fromUnixTimestamp64Nano({since:Int64})
    AND ReceivedAt >= fromUnixTimestamp64Nano({since:Int64}) - INTERVAL 1 DAY"""
_GROUPS: Final = "GROUP BY tenant, TraceId, StoredBy, At"
_READ: Final = "SELECT tenant, TraceId, StoredBy, toUnixTimestamp64Nano(StoredAt) AS At, "
_NANOS: Final = "toUnixTimestamp64Nano(ReceivedAt)"

# Over all tenants: what must be done next is the collector's own affair.
_ARRIVED: Final = f"""
{_READ} max({_NANOS}), max(Ended), false FROM
(
    SELECT tenant, TraceId, StoredBy, StoredAt, ReceivedAt, ParentSpanId = '' AND NOT Pending AS Ended
    FROM spans WHERE {_NEW}
    UNION ALL
    SELECT tenant, TraceId, StoredBy, StoredAt, ReceivedAt, false FROM logs WHERE {_NEW}
)
{_GROUPS}
"""
_BY_DETECTORS: Final = f"SubjectKind = 'trace' AND Judge = '{DETECTORS}'"
_JUDGED: Final = f"""
{_READ} maxIf({_NANOS}, {_BY_DETECTORS}), max(TraceState != 'open'), max(Findings > 0)
FROM judgements WHERE {_NEW} {_GROUPS}
"""


@dataclass(frozen=True, slots=True)
class StoredChange:
    """What the process `by` stored of a trace in one insert, `at` a time of the server (unix nanos).

    Of spans and log records `received` is when the newest arrived, by its receiver's clock, and `is_final` says that a
    root has ended. Of judgements they say the same of the newest row that detectors judged (0: these did not), and that
    the trace was complete; `has_findings`: some hold.
    """

    key: TraceKey
    by: str
    at: int
    received: int
    is_final: bool
    has_findings: bool

    @classmethod
    def of(cls, row: Sequence[Any]) -> StoredChange:
        """The change of a row of a query."""
        tenant, trace_id, by, at, received, is_final, has_findings = row
        return cls((tenant, trace_id), by, at, received, bool(is_final), bool(has_findings))


class Cursor:
    """Gives each change once that becomes readable within `OVERLAP`. Times are unix nanos of the server."""

    def __init__(self, start: int) -> None:
        self._last = self._wide = start
        self._given: dict[tuple[TraceKey, str, int], None] = {}

    def since(self, now: int) -> int:
        """From when on to read now."""
        return self._wide - OVERLAP if now - self._wide >= WIDE_EVERY else self._last - OFTEN

    def take(self, found: Iterable[StoredChange], now: int) -> list[StoredChange]:
        """What is new of all that was found, to be readable at `now` or after, since `since(now)`."""
        new = [one for one in found if (one.key, one.by, one.at) not in self._given]
        self._given.update(dict.fromkeys((one.key, one.by, one.at) for one in new))
        if now - self._wide >= WIDE_EVERY:
            self._wide = now
            self._given = {one: None for one in self._given if one[2] >= now - OVERLAP}
        self._wide, self._last = min(self._wide, now), now  # the server's clock may be set back
        return new


@dataclass(frozen=True, slots=True)
class NewChanges:
    """Since the last reading: rows that `arrived`, and what was `judged`."""

    arrived: Sequence[StoredChange] = ()
    judged: Sequence[StoredChange] = ()


class StoredChanges:
    """What others store from `start` on (unix nanos of the server); `reads_rows`: also spans and log records."""

    def __init__(self, store: SharedStore, start: int, *, reads_rows: bool) -> None:
        self._store, self._reads_rows = store, reads_rows
        self._rows, self._judgements = Cursor(start), Cursor(start)

    def read(self, now: int) -> NewChanges:
        """What is new at `now` (unix nanos of the server). Raises RetryableError, StoreError: it is read again then.

        Judgements are read first: no row comes after a judgement that has seen it.
        """
        judged = self._found(_JUDGED, self._judgements, now)
        arrived = self._found(_ARRIVED, self._rows, now) if self._reads_rows else []
        return NewChanges(self._rows.take(arrived, now), self._judgements.take(judged, now))

    def _found(self, sql: str, cursor: Cursor, now: int) -> list[StoredChange]:
        values = {"own": self._store.stored_by, "since": cursor.since(now)}
        return list(map(StoredChange.of, self._store.rows(sql, values)))
