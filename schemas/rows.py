"""Spans and log records as ClickHouse rows (tables `spans` and `logs`), there and back.

Writing is by column, which is what the Native format wants. A span that went through both equals the original but for
`received_at`, which is the store's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from operator import attrgetter, itemgetter
from typing import Any, Final

from .columns import ColumnTable, StoredColumn, plain_columns
from .inline_media import MEDIA
from .spans import LogRecord, Span, SpanEvent, SpanLink


def _nested(name: str, attribute: str) -> StoredColumn:
    """A column of arrays: an attribute of each event or link of a span."""
    items, _, inner = attribute.partition(".")
    get = attrgetter(inner)
    return StoredColumn(
        name, items, write_all=lambda all_items: [list(map(get, each)) if each else each for each in all_items]
    )


_SPANS: Final = ColumnTable(
    Span,
    *plain_columns("tenant", "trace_id", "span_id", "parent_span_id"),
    StoredColumn("SpanName", "name"),
    StoredColumn("StartNanos", "start"),
    StoredColumn("EndNanos", "end"),
    StoredColumn("SpanAttributes", "attributes"),
    StoredColumn("SpanAttributeTypes", "attribute_types"),
    StoredColumn("Kind", "kind"),
    StoredColumn("Status", "status_code"),
    StoredColumn("StatusMessage", "status_message"),
    StoredColumn("ServiceName", "service"),
    *plain_columns("resource_attributes", "resource_attribute_types", "scope_name", "scope_version", "trace_state"),
    *plain_columns("flags", "dropped_attributes", "dropped_events", "dropped_links", "pending", "cut", "received_at"),
    _nested("Events.Nanos", "events.time"),
    _nested("Events.Name", "events.name"),
    _nested("Events.Attributes", "events.attributes"),
    _nested("Events.AttributeTypes", "events.attribute_types"),
    _nested("Links.TraceId", "links.trace_id"),
    _nested("Links.SpanId", "links.span_id"),
    _nested("Links.TraceState", "links.trace_state"),
    _nested("Links.Attributes", "links.attributes"),
    _nested("Links.AttributeTypes", "links.attribute_types"),
)
_LOGS: Final = ColumnTable(
    LogRecord,
    *plain_columns("tenant", "trace_id", "span_id"),
    StoredColumn("Nanos", "time"),
    StoredColumn("ObservedNanos", "observed_time"),
    *plain_columns("event_name", "body", "body_type"),
    StoredColumn("LogAttributes", "attributes"),
    StoredColumn("LogAttributeTypes", "attribute_types"),
    *plain_columns("severity_number", "severity_text"),
    StoredColumn("ServiceName", "service"),
    *plain_columns("resource_attributes", "scope_name", "scope_version", "flags", "cut", "received_at"),
)

SPAN_COLUMNS: Final = _SPANS.names
LOG_COLUMNS: Final = _LOGS.names
SPAN_SELECT: Final = f"{_SPANS.select}, {MEDIA}"
LOG_SELECT: Final = f"{_LOGS.select}, {MEDIA}"
"""The columns of a table, and last what was taken out of the row (`inline_media`)."""

_FIELDS: Final = tuple(field.name for field in fields(Span))
_BEFORE_EVENTS: Final = _SPANS.values_of(*_FIELDS[: _FIELDS.index("events")])
_AFTER_LINKS: Final = _SPANS.values_of(*_FIELDS[_FIELDS.index("links") + 1 :])
_EVENTS: Final = itemgetter(*(at for at, name in enumerate(SPAN_COLUMNS) if name.startswith("Events.")))
_LINKS: Final = itemgetter(*(at for at, name in enumerate(SPAN_COLUMNS) if name.startswith("Links.")))


def span_columns(spans: Sequence[Span], received_at: int) -> list[list[Any]]:
    """One list a column of `SPAN_COLUMNS`; times in unix nanos, maps as mappings. All rows arrived at `received_at`."""
    return _arrived(_SPANS.by_column(spans), SPAN_COLUMNS, received_at)


def span_from_row(row: Sequence[Any]) -> Span:
    """The span of a row of `SPAN_SELECT`."""
    events, links = tuple(map(SpanEvent, *_EVENTS(row))), tuple(map(SpanLink, *_LINKS(row)))
    values: list[Any] = [*_BEFORE_EVENTS(row), events, links, *_AFTER_LINKS(row)]
    return Span(*values)


def spans_from_columns(columns: Mapping[str, Sequence[Any]]) -> list[Span]:
    """The spans of the columns that `span_columns` gives, by their names."""
    return list(map(span_from_row, zip(*(columns[name] for name in SPAN_COLUMNS), strict=True)))


def log_columns(logs: Sequence[LogRecord], received_at: int) -> list[list[Any]]:
    """One list a column of `LOG_COLUMNS`; times in unix nanos, maps as mappings. All rows arrived at `received_at`."""
    return _arrived(_LOGS.by_column(logs), LOG_COLUMNS, received_at)


log_from_row = _LOGS.read


def logs_from_columns(columns: Mapping[str, Sequence[Any]]) -> list[LogRecord]:
    """The log records of the columns that `log_columns` gives, by their names."""
    return list(map(log_from_row, zip(*(columns[name] for name in LOG_COLUMNS), strict=True)))


def _arrived(columns: list[list[Any]], names: Sequence[str], received_at: int) -> list[list[Any]]:
    columns[names.index("ReceivedAt")] = [received_at] * len(columns[0])
    return columns
