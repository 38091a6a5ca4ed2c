"""Finds traces whose facts may be outdated, since the process that should have folded them ended."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from tracejury.collector.store.changes import Changes
from tracejury.collector.store.client import Store
from tracejury.collector.store.inserting import insert_rows, storing

from .facts import HOUR

BUCKET_COLUMNS: Final = ("tenant", "Hours", "Bucket", "Touched", "Rolled", "ReceivedAt")

PAGE: Final = 20_000
"""Traces looked up at once."""

MARGIN: Final = HOUR
"""A judging, or a deletion, is stamped before it is stored: for how long that may take."""

EVERY: Final = HOUR // 60
"""Between two notes of how far the folding has come."""

_NOTED: Final = "SELECT max(Rolled) FROM rate_buckets WHERE Hours = 0"

_SINCE: Final = """
SELECT tenant, TraceId FROM
(
    SELECT tenant, TraceId FROM findings WHERE JudgedAt >= {since:UInt64}
    UNION ALL
    SELECT tenant, TraceId FROM verdicts WHERE JudgedAt >= {since:UInt64}
    UNION ALL
    SELECT tenant, TraceId FROM traces WHERE JudgedAt >= {since:UInt64}
    UNION ALL
    SELECT tenant, TraceId FROM judgements WHERE JudgedAt >= {since:UInt64}
    UNION ALL
    SELECT tenant, TraceId FROM deletions WHERE At >= {since:UInt64}
)
WHERE (tenant, TraceId) > ({tenant:String}, {trace_id:String})
GROUP BY tenant, TraceId ORDER BY tenant, TraceId LIMIT {limit:UInt64}
"""


class CatchingUp:
    """At the start, and where too many were touched to remember: pages through what changed since the last note.

    The note says until when everything that was stored has been folded.
    """

    def __init__(self, store: Store, clock: Callable[[], int] = time.time_ns) -> None:
        self._store, self._clock = store, clock
        self._after: tuple[str, str] | None = None
        self._since = 0
        self._noted, self._writes = 0, 0

    @property
    def is_behind(self) -> bool:
        """Whether pages are left."""
        return self._after is not None

    def look(self, changes: Changes) -> None:
        """Touch the next page, once those before it are folded."""
        if changes.lost():
            try:
                noted = min(self._store.rows(_NOTED)[0][0], self._clock())
            except BaseException:
                changes.lose()
                raise
            self._since, self._after = max(noted - MARGIN, 0), ("", "")
        if self._after is None or len(changes):
            return
        tenant, trace_id = self._after
        values = {"since": self._since, "tenant": tenant, "trace_id": trace_id, "limit": PAGE}
        found = [(row[0], row[1]) for row in self._store.rows(_SINCE, values)]
        changes.touch(found)
        self._after = found[-1] if len(found) == PAGE else None

    def done(self, now: int, writes: int) -> None:
        """All that was touched by `now` is folded, after so many writes: note it now and then, for the next start."""
        if self._after is not None or writes == self._writes or now < self._noted + EVERY:
            return
        row = ("", 0, 0, 0, max(now - EVERY, 0), now)
        with storing("how far error rates have come"):
            insert_rows(self._store, "rate_buckets", BUCKET_COLUMNS, [row])
        self._noted, self._writes = now, writes
