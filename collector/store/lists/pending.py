"""Rows in lists for traces that were never judged."""

from __future__ import annotations

import logging
from typing import Any, Final

from ....schemas.errors import TracejuryError
from ..client import Store
from ..pending_traces import JUDGED

log = logging.getLogger(__name__)

# Over all tenants: that a trace waits is the collector's own affair.
_LIST: Final = f"""
INSERT INTO traces (tenant, TraceId, ServiceName, State, Name, StartNanos, EndNanos, Spans, JudgedAt, ReceivedAt)
SELECT tenant, TraceId, argMin(ServiceName, (StartNanos, SpanId)), 'open',
    argMin(SpanName, (ParentSpanId != '', StartNanos, SpanId)), min(StartNanos), max(EndNanos), uniqExact(SpanId), 0,
    max(ReceivedAt)
FROM spans
WHERE {{which}} AND TraceId NOT IN {{{{deleting:Array(String)}}}}
    AND (tenant, TraceId) NOT IN (SELECT tenant, TraceId FROM traces WHERE {{which}} AND {JUDGED})
GROUP BY tenant, TraceId
"""
_NAMED: Final = _LIST.format(which="TraceId IN {trace_ids:Array(String)}")
_ARRIVED: Final = _LIST.format(
    which="TraceId IN (SELECT TraceId FROM spans WHERE ReceivedAt >= fromUnixTimestamp64Nano({since:Int64}))"
)
_ALL: Final = _LIST.format(which="1")


def list_pending(store: Store) -> None:
    """Have lists show every trace with committed spans. A store that cannot be written to is no reason not to list."""
    with store.pending.listing:
        unlisted = store.pending.take()
        try:
            with store.changes.writing():
                values: dict[str, Any] = {"deleting": sorted(store.changes.deleting())}
                if unlisted.since is not None:
                    store.command(_ARRIVED if unlisted.since else _ALL, values | {"since": unlisted.since})
                if unlisted.keys:
                    store.command(_NAMED, values | {"trace_ids": sorted({trace_id for _, trace_id in unlisted.keys})})
        except TracejuryError as error:
            store.pending.look_since(0)
            if store.pending.warnings.due("lists"):
                log.warning("lists lack traces that were not judged yet: %s", error)
