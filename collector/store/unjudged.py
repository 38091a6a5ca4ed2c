"""The sweep for traces whose judging is not finished, over all tenants.

It notes until when everything that had arrived was finished. Since then a trace can have become unfinished only by rows
that arrived later, by a later judgement, or because its judging failed and there is another version now. So the next
sweep looks at such traces alone, and takes as long as there is news, not as long as there are rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tracejury.processors.assemble import SECOND, TraceKey
from tracejury.schemas.verdicts import DETECTORS, Outcome

from .client import Store
from .inserting import store_rows

COLUMNS: Final = ("tenant", "Name", "Through", "NotedAt")

MARGIN: Final = 300 * SECOND
"""A judgement is stamped before it is stored, and so are rows: for how long that may take."""

_OF_TRACES: Final = f"SubjectKind = 'trace' AND Judge = '{DETECTORS}'"

_WORD: Final = "(toUnixTimestamp64Nano(ReceivedAt), TraceState, Outcome, Version)"
_UNFINISHED: Final = "last.2 = 'open' OR (last.3 = 'failed' AND last.4 != {version:String})"

_SEEN: Final = """
SELECT greatest((SELECT max(toUnixTimestamp64Nano(ReceivedAt)) FROM spans),
    (SELECT max(toUnixTimestamp64Nano(ReceivedAt)) FROM logs)), 1
"""
_NOTED: Final = "SELECT max(Through) FROM sweeps FINAL WHERE Name = 'judging'"

# What is new, by trace: when the latest of it arrived, and the last judgement. A trace that has a judgement since the
# note has its last one here; and of what had arrived before the note nothing is known but that.
_NEWS: Final = f"""
SELECT tenant, TraceId, max(at) AS arrived, argMax(word, judged_at) AS last FROM
(
    SELECT tenant, TraceId, toUnixTimestamp64Nano(ReceivedAt) AS at, 0 AS judged_at, (0, '', '', '') AS word
    FROM spans WHERE ReceivedAt >= fromUnixTimestamp64Nano({{noted:Int64}})
    UNION ALL
    SELECT tenant, TraceId, toUnixTimestamp64Nano(ReceivedAt) AS at, 0 AS judged_at, (0, '', '', '') AS word
    FROM logs WHERE ReceivedAt >= fromUnixTimestamp64Nano({{noted:Int64}})
    UNION ALL
    SELECT tenant, TraceId, {{noted:Int64}} AS at, JudgedAt AS judged_at, {_WORD} AS word
    FROM judgements WHERE {_OF_TRACES} AND JudgedAt >= {{noted:Int64}}
    UNION ALL
    SELECT tenant, TraceId, {{noted:Int64}} AS at, 0 AS judged_at, (0, '', '', '') AS word
    FROM judgements WHERE {_OF_TRACES} AND Outcome = '{Outcome.FAILED}' AND Version != {{version:String}}
)
GROUP BY tenant, TraceId
"""
_SUSPECT: Final = f"(arrived > last.1 OR {_UNFINISHED})"
_COUNT: Final = f"SELECT max(arrived), countIf({_SUSPECT}) FROM ({_NEWS})"
_SUSPECTS: Final = f"(tenant, TraceId) IN (SELECT tenant, TraceId FROM ({_NEWS}) WHERE {_SUSPECT})"

# Over all tenants: a sweep is the collector's own. FINAL, so that a copy that lost to another one of its span, which
# nobody will ever see again, does not count as news; log records count only where their trace has spans.
_UNJUDGED: Final = f"""
WITH
    judged AS
    (
        SELECT
            tenant,
            TraceId,
            argMax({_WORD}, JudgedAt) AS last
        FROM judgements
        WHERE {_OF_TRACES} AND {{traces}}
        GROUP BY tenant, TraceId
    ),
    stored AS
    (
        SELECT tenant, TraceId, max(at) AS arrived{{of_both}}
        FROM
        (
            SELECT tenant, TraceId, max(toUnixTimestamp64Nano(ReceivedAt)) AS at, 1 AS spans{{of_spans}}
            FROM spans FINAL
            WHERE {{traces}}
            GROUP BY tenant, TraceId
            UNION ALL
            SELECT tenant, TraceId, max(toUnixTimestamp64Nano(ReceivedAt)) AS at, 0 AS spans{{of_logs}}
            FROM logs FINAL
            WHERE {{traces}}
            GROUP BY tenant, TraceId
        )
        GROUP BY tenant, TraceId
        HAVING max(spans) = 1
    )
SELECT stored.tenant, stored.TraceId, stored.arrived, {{is_left}}
FROM stored
LEFT JOIN judged ON stored.tenant = judged.tenant AND stored.TraceId = judged.TraceId
WHERE arrived > last.1 OR {_UNFINISHED}
ORDER BY arrived, stored.TraceId
LIMIT {{limit:UInt64}}
"""
# On a server others may be about to judge it, until nothing came for a while by the server's clock.
_STORED: Final = "max(toUnixTimestamp64Nano(StoredAt)) AS stored_at"
_ALONE: Final = {"of_spans": "", "of_logs": "", "of_both": "", "is_left": "true"}
_AMONG_OTHERS: Final = {
    "of_spans": f", {_STORED}, max(ParentSpanId = '' AND NOT Pending) AS ended",
    "of_logs": f", {_STORED}, false AS ended",
    "of_both": ", max(stored_at) AS last_stored, max(ended) AS has_ended",
    "is_left": "toUnixTimestamp64Nano(now64(9)) - last_stored >= "
    "{after:Int64} + if(last.2 = 'open' AND NOT has_ended, {rootless:Int64}, 0)",
}


def _unjudged(traces: str, words: Mapping[str, str]) -> str:
    sql = _UNJUDGED.replace("{traces}", traces)
    for name, word in words.items():
        sql = sql.replace(f"{{{name}}}", word)
    return sql


_OF_NAMED: Final = _unjudged("TraceId IN {trace_ids:Array(String)}", _ALONE)


@dataclass(frozen=True, slots=True)
class OthersTime:
    """How long others have for a trace after its last row, and how much longer for one without a root (nanos)."""

    after: int
    rootless: int


class UnjudgedSweep:
    """Looks for unfinished traces. `clock`: unix nanos. Methods raise RetryableError, StoreError."""

    def __init__(self, store: Store, clock: Callable[[], int] = time.time_ns) -> None:
        self._store, self._clock = store, clock

    def find(self, version: str, limit: int, others: OthersTime | None = None) -> list[TraceKey]:
        """Up to `limit` traces, the earliest arrival first. `others`: whose time must be over first.

        That is: never judged; rows have arrived since; last judged while the trace was open; or judging failed under
        another version than `version`.
        """
        now = self._clock()
        noted = finished_until(self._store, now)
        values: dict[str, Any] = {"version": version, "limit": limit, "noted": noted}
        # Before the sweep: rows arrive in the order of commits, so it sees all that arrived before these.
        seen, suspects = self._store.rows(_COUNT if noted else _SEEN, values)[0]
        if others is not None:
            values |= {"after": others.after, "rootless": others.rootless}
        sql = _unjudged(_SUSPECTS if noted else "1", _ALONE if others is None else _AMONG_OTHERS)
        found = self._store.rows(sql, values) if suspects else []
        finished = min(now, seen, *(row[2] for row in found[:1])) - MARGIN
        if finished > noted + MARGIN and not self._store.is_incomplete:
            row = ("", "judging", finished, now)
            store_rows(self._store, "how far judging has come", "sweeps", COLUMNS, [row])
        return [(tenant, trace_id) for tenant, trace_id, _, is_left in found if is_left]

    def among(self, keys: Collection[TraceKey], version: str) -> list[TraceKey]:
        """Those of these traces that are not finished."""
        ids = sorted({trace_id for _, trace_id in keys})
        rows = self._store.rows(_OF_NAMED, {"version": version, "limit": 2 * len(ids), "trace_ids": ids})
        return [(tenant, trace_id) for tenant, trace_id, *_ in rows if (tenant, trace_id) in keys]


def finished_until(store: Store, now: int) -> int:
    """Every trace of which nothing arrived since then (unix nanos) was judged; 0 where nobody knows.

    A note cannot hold where rows were lost, or the clock was set back. Raises RetryableError, StoreError.
    """
    noted: int = store.rows(_NOTED)[0][0]
    if noted > now:
        forget_sweeps(store)
        return 0
    return 0 if store.is_incomplete else noted


def forget_sweeps(store: Store) -> None:
    """The next sweep reads everything: rows were lost. Raises RetryableError, StoreError."""
    store.command("TRUNCATE TABLE sweeps")
