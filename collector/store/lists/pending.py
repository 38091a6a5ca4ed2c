"""Rows in lists for traces that were never judged."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tracejury.collector.store.deleted_elsewhere import delete_made
from tracejury.collector.store.pending_traces import AFTER, JUDGED, MOST
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.store.unjudged import finished_until
from tracejury.collector.worker.outage_log import OutageLog
from tracejury.collector.worker.worker import Task, Worker
from tracejury.processors.assemble import SECOND
from tracejury.processors.normalize import CONVENTIONS
from tracejury.processors.normalize.pydantic_ai import PydanticAI
from tracejury.processors.normalize.stated import SESSION
from tracejury.processors.normalize.tool_hooks import ToolHooks
from tracejury.processors.schedule import COST_SHARE
from tracejury.schemas.simulation import SIMULATED

_PROPERTIES: Final = "traceloop.association.properties."
_METADATA: Final = "ai.telemetry.metadata."
_SESSION_KEYS: Final[Mapping[str, Sequence[str]]] = {
    "genai": ("gen_ai.conversation.id",),
    "langfuse": ("session.id", "langfuse.session.id"),
    "google-adk": ("gcp.vertex.agent.session_id",),
    "openllmetry": [_PROPERTIES + key for key in ("session_id", "thread_id", "conversation_id", "chat_id")],
    "vercel": [
        _METADATA + key for key in ("sessionId", "session_id", "threadId", "thread_id", "conversationId", "chatId")
    ],
}
"""Attributes in which conventions name a session beside `session.id`, as `processors.normalize` reads them.

They count on a span that is of the convention: others name sessions of browsers, for example.
"""

_KEYS: Final = [
    (key, sorted(convention.marks), convention.name == "genai")
    for convention in CONVENTIONS
    if convention.marks and not isinstance(convention, ToolHooks | PydanticAI)  # plain words by themselves
    for key in dict.fromkeys((*_SESSION_KEYS.get(convention.name, ()), SESSION))
]
SESSION_VALUES: Final[Mapping[str, Any]] = {
    "session_keys": [key for key, _, _ in _KEYS],
    "session_marks": [marks for _, marks, _ in _KEYS],
    "session_genai": [is_genai for _, _, is_genai in _KEYS],
    "any_mark": sorted({"gen_ai.conversation.id"}.union(*(marks for _, marks, _ in _KEYS))),
}

_WAITING: Final = f"""{{which}} AND TraceId NOT IN {{{{deleting:Array(String)}}}}
    AND (tenant, TraceId) NOT IN (SELECT tenant, TraceId FROM traces WHERE {{which}} AND {JUDGED})"""

# Any key of GenAI's marks a span that is not OpenInference's.
_NAMED_BY: Final = """arrayMap((key, marks, is_genai) -> hasAny(SpanAttributes.keys, marks) OR (
    is_genai AND NOT has(SpanAttributes.keys, 'openinference.span.kind')
    AND arrayExists(name -> startsWith(name, 'gen_ai.'), SpanAttributes.keys)
), {{session_keys:Array(String)}}, {{session_marks:Array(Array(String))}}, {{session_genai:Array(Bool)}})"""

# Values of attributes are read of one span a trace: they hold prompts.
_SESSIONS: Final = f"""
SELECT tenant, TraceId, arrayFirst(id -> id != '', arrayMap(
    (key, named) -> if(named, SpanAttributes[key], ''), {{{{session_keys:Array(String)}}}}, {_NAMED_BY})) AS SessionId
FROM spans
WHERE (tenant, TraceId, SpanId) IN (
    SELECT tenant, TraceId, argMin(SpanId, (ParentSpanId != '', StartNanos, SpanId)) FROM spans
    PREWHERE {_WAITING}
    WHERE arrayExists(key -> key IN {{{{session_keys:Array(String)}}}}, SpanAttributes.keys)
        AND arrayExists(key -> key IN {{{{any_mark:Array(String)}}}}, SpanAttributes.keys)
    GROUP BY tenant, TraceId)
LIMIT 1 BY tenant, TraceId
"""

# Attributes are read of no span that has no such key.
_SIMULATED: Final = f"""
SELECT tenant, TraceId FROM spans PREWHERE {{which}} AND has(SpanAttributes.keys, '{SIMULATED}')
WHERE lower(trimBoth(SpanAttributes['{SIMULATED}'])) = 'true'
"""

# Over all tenants: that a trace waits is the collector's own affair.
_LIST: Final = f"""
INSERT INTO traces
    (tenant, TraceId, ServiceName, State, Name, StartNanos, EndNanos, Spans, JudgedAt, ReceivedAt, SessionId, Simulated)
SELECT waiting.*, named.SessionId, (waiting.tenant, waiting.TraceId) IN ({_SIMULATED}) FROM
(
    SELECT tenant, TraceId, argMin(ServiceName, (StartNanos, SpanId)), 'open',
        argMin(SpanName, (ParentSpanId != '', StartNanos, SpanId)), min(StartNanos), max(EndNanos),
        uniqExact(SpanId), 0, max(ReceivedAt)
    FROM spans WHERE {_WAITING} GROUP BY tenant, TraceId
) AS waiting
LEFT JOIN ({_SESSIONS}) AS named ON waiting.tenant = named.tenant AND waiting.TraceId = named.TraceId
"""
_NAMED: Final = _LIST.format(which="TraceId IN {trace_ids:Array(String)}")
_SINCE: Final = "ReceivedAt >= fromUnixTimestamp64Nano({since:Int64})"
_ARRIVED: Final = _LIST.format(which=f"TraceId IN (SELECT TraceId FROM spans WHERE {_SINCE})")

# Most traces that arrived are judged by now: to tell that takes less than to look for their spans in every part.
_WAITING_SINCE: Final = f"""
SELECT DISTINCT tenant, TraceId FROM spans WHERE {_SINCE} AND (tenant, TraceId) NOT IN (
    SELECT tenant, TraceId FROM traces WHERE {JUDGED} AND TraceId IN (SELECT TraceId FROM spans WHERE {_SINCE}))
LIMIT {{limit:UInt64}}
"""


def list_pending(store: SharedStore, before: int = 2**63 - 1) -> None:
    """Give a row to every trace with spans committed before then (unix nanos) that has none.

    Raises RetryableError, StoreError: the store cannot be written to; it is tried again the next time.
    """
    with store.pending.listing:
        unlisted = store.pending.take(before)
        try:
            with store.deletions.writing():
                values: dict[str, Any] = {"deleting": sorted({i for _, i in store.deletions.under_way()})}
                values |= SESSION_VALUES
                keys = set(unlisted.keys)
                if unlisted.since is not None:
                    since = {"since": unlisted.since or finished_until(store, time.time_ns())}
                    found = store.rows(_WAITING_SINCE, since | {"limit": MOST})
                    if len(found) == MOST:
                        store.command(_ARRIVED, values | since)
                    else:
                        keys.update(map(tuple, found))
                if keys:
                    store.command(_NAMED, values | {"trace_ids": sorted({trace_id for _, trace_id in keys})})
        except BaseException:
            store.pending.look_since(0)
            raise
    delete_made(store, dict.fromkeys(keys, 0))  # another process may have deleted them meanwhile


def pending_worker(store: SharedStore, clock: Callable[[], int] = time.time_ns) -> Worker[None, None]:
    """Gives rows to traces that wait, in no more than a tenth of the time; not started."""
    outage = OutageLog("rows of traces that are not judged yet", "wait for the store", "are written again", clock)
    resting = 0

    def write() -> None:
        nonlocal resting
        began = clock()
        if began >= resting:
            list_pending(store, began - AFTER)
            resting = clock() + COST_SHARE * (clock() - began)

    return Worker("pending", Task(write), outage, every=AFTER / SECOND, clock=clock)
