"""A large trace that was never judged, as its spans alone show it: no agent runs, its first spans in the remainder."""

from __future__ import annotations

from typing import Final

from tracejury.collector.store.scope import TENANT, Scope
from tracejury.processors.trace_outline import NAME, SpanOutline, TraceOutline
from tracejury.schemas.normalized import Kind
from tracejury.schemas.spans import STATUS_ERROR
from tracejury.schemas.text.terminal import one_line
from tracejury.schemas.trajectory import TraceState

_SPANS: Final = f"""
SELECT SpanId, ParentSpanId, leftUTF8(SpanName, {NAME + 1}), Status, StartNanos, EndNanos, ServiceName,
    toUnixTimestamp64Nano(ReceivedAt)
FROM spans FINAL WHERE {TENANT} AND TraceId = {{trace_id:String}} ORDER BY StartNanos, SpanId LIMIT {{most:UInt64}}
"""

MOST_SPANS: Final = 2_000
"""Spans of a sketch: a first answer, while judging has the processor."""


def sketch(scope: Scope, trace_id: str) -> TraceOutline | None:
    """The first spans of a trace, without reading what they hold; None where there is no such trace.

    Raises:
        RetryableError, StoreError: the store failed.
    """
    rows = scope.select(_SPANS, trace_id=trace_id, most=MOST_SPANS)
    if not rows:
        return None
    return TraceOutline(
        trace_id=trace_id,
        trace_ids=(trace_id,),
        tenant=scope.tenant,
        service=next((row[6] for row in rows if row[6]), ""),
        session_id="",
        state=TraceState.OPEN,
        conventions=(),
        spans=len(rows),
        start=min(row[4] for row in rows),
        end=max(row[5] for row in rows),
        received_through=max(row[7] for row in rows),
        llm_calls=0,
        input_tokens=None,
        output_tokens=None,
        rebuilt=False,
        remainder=tuple(
            SpanOutline(
                span_id=row[0],
                parent_id=row[1],
                name=one_line(row[2], NAME),
                kind=Kind.OTHER.value,
                failed=row[3] == STATUS_ERROR,
                start=row[4],
                end=max(row[4], row[5]),
            )
            for row in rows
        ),
    )
