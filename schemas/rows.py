"""Spans and log records as ClickHouse rows (tables `spans` and `logs`), there and back.

Writing is by column, which is what the Native format wants: `span_columns` gives one list a name of
`SPAN_COLUMNS`, all of equal length. Reading is by row: `span_from_row` takes a row of `SPAN_SELECT`. A span that
went through both equals the original but for `received_at`, which is the store's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from .spans import LogRecord, Span, SpanEvent, SpanLink

SPAN_COLUMNS: Final = (
    "tenant",
    "TraceId",
    "SpanId",
    "ParentSpanId",
    "SpanName",
    "StartNanos",
    "EndNanos",
    "SpanAttributes",
    "SpanAttributeTypes",
    "Events.Nanos",
    "Events.Name",
    "Events.Attributes",
    "Links.TraceId",
    "Links.SpanId",
    "Links.TraceState",
    "Links.Attributes",
    "Kind",
    "Status",
    "StatusMessage",
    "ServiceName",
    "ResourceAttributes",
    "ResourceAttributeTypes",
    "ScopeName",
    "ScopeVersion",
    "TraceState",
    "Flags",
    "DroppedAttributes",
    "DroppedEvents",
    "DroppedLinks",
    "ReceivedAt",
    "Pending",
    "Cut",
    "Events.AttributeTypes",
    "Links.AttributeTypes",
)

LOG_COLUMNS: Final = (
    "tenant",
    "TraceId",
    "SpanId",
    "Nanos",
    "ObservedNanos",
    "EventName",
    "Body",
    "BodyType",
    "LogAttributes",
    "LogAttributeTypes",
    "SeverityNumber",
    "SeverityText",
    "ServiceName",
    "ResourceAttributes",
    "ScopeName",
    "ScopeVersion",
    "Flags",
    "ReceivedAt",
    "Cut",
)


def select_list(columns: Sequence[str]) -> str:
    """The columns as a SELECT list. DateTime64(9) would come back cut to micros: its nanos are read as a number."""
    return ", ".join(
        "toUnixTimestamp64Nano(ReceivedAt) AS ReceivedNanos" if c == "ReceivedAt" else f"`{c}`" for c in columns
    )


SPAN_SELECT: Final = select_list(SPAN_COLUMNS)
LOG_SELECT: Final = select_list(LOG_COLUMNS)


def span_columns(spans: Sequence[Span], received_at: int) -> list[list[Any]]:
    """One list a column of `SPAN_COLUMNS`; times in unix nanos, maps as dicts. All rows arrived at `received_at`."""
    return [
        [s.tenant for s in spans],
        [s.trace_id for s in spans],
        [s.span_id for s in spans],
        [s.parent_span_id for s in spans],
        [s.name for s in spans],
        [s.start for s in spans],
        [s.end for s in spans],
        [_dict(s.attributes) for s in spans],
        [_dict(s.attribute_types) for s in spans],
        [[e.time for e in s.events] for s in spans],
        [[e.name for e in s.events] for s in spans],
        [[_dict(e.attributes) for e in s.events] for s in spans],
        [[k.trace_id for k in s.links] for s in spans],
        [[k.span_id for k in s.links] for s in spans],
        [[k.trace_state for k in s.links] for s in spans],
        [[_dict(k.attributes) for k in s.links] for s in spans],
        [s.kind for s in spans],
        [s.status_code for s in spans],
        [s.status_message for s in spans],
        [s.service for s in spans],
        [_dict(s.resource_attributes) for s in spans],
        [_dict(s.resource_attribute_types) for s in spans],
        [s.scope_name for s in spans],
        [s.scope_version for s in spans],
        [s.trace_state for s in spans],
        [s.flags for s in spans],
        [s.dropped_attributes for s in spans],
        [s.dropped_events for s in spans],
        [s.dropped_links for s in spans],
        [received_at] * len(spans),
        [s.pending for s in spans],
        [s.cut for s in spans],
        [[_dict(e.attribute_types) for e in s.events] for s in spans],
        [[_dict(k.attribute_types) for k in s.links] for s in spans],
    ]


def span_from_row(row: Sequence[Any]) -> Span:
    """The span of a row of `SPAN_SELECT`."""
    return Span(
        tenant=row[0],
        trace_id=row[1],
        span_id=row[2],
        parent_span_id=row[3],
        name=row[4],
        start=row[5],
        end=row[6],
        attributes=row[7],
        attribute_types=row[8],
        events=tuple(map(SpanEvent, row[9], row[10], row[11], row[32])),
        links=tuple(map(SpanLink, row[12], row[13], row[14], row[15], row[33])),
        kind=row[16],
        status_code=row[17],
        status_message=row[18],
        service=row[19],
        resource_attributes=row[20],
        resource_attribute_types=row[21],
        scope_name=row[22],
        scope_version=row[23],
        trace_state=row[24],
        flags=row[25],
        dropped_attributes=row[26],
        dropped_events=row[27],
        dropped_links=row[28],
        received_at=row[29],
        pending=row[30],
        cut=row[31],
    )


def log_columns(logs: Sequence[LogRecord], received_at: int) -> list[list[Any]]:
    """One list a column of `LOG_COLUMNS`; times in unix nanos, maps as dicts. All rows arrived at `received_at`."""
    return [
        [r.tenant for r in logs],
        [r.trace_id for r in logs],
        [r.span_id for r in logs],
        [r.time for r in logs],
        [r.observed_time for r in logs],
        [r.event_name for r in logs],
        [r.body for r in logs],
        [r.body_type for r in logs],
        [_dict(r.attributes) for r in logs],
        [_dict(r.attribute_types) for r in logs],
        [r.severity_number for r in logs],
        [r.severity_text for r in logs],
        [r.service for r in logs],
        [_dict(r.resource_attributes) for r in logs],
        [r.scope_name for r in logs],
        [r.scope_version for r in logs],
        [r.flags for r in logs],
        [received_at] * len(logs),
        [r.cut for r in logs],
    ]


def log_from_row(row: Sequence[Any]) -> LogRecord:
    """The log record of a row of `LOG_SELECT`."""
    return LogRecord(
        tenant=row[0],
        trace_id=row[1],
        span_id=row[2],
        time=row[3],
        observed_time=row[4],
        event_name=row[5],
        body=row[6],
        body_type=row[7],
        attributes=row[8],
        attribute_types=row[9],
        severity_number=row[10],
        severity_text=row[11],
        service=row[12],
        resource_attributes=row[13],
        scope_name=row[14],
        scope_version=row[15],
        flags=row[16],
        received_at=row[17],
        cut=row[18],
    )


def _dict(mapping: Mapping[str, str]) -> dict[str, str]:
    # The driver takes nothing but dicts for maps.
    return mapping if isinstance(mapping, dict) else dict(mapping)
