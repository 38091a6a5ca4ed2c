"""Rows of a trace: their sizes and their identity."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from tracejury.schemas.spans import LogRecord, Span

TraceRows = tuple[Sequence[Span], Sequence[LogRecord]]


def span_size(span: Span) -> int:
    """Approximate bytes that a span keeps alive."""
    events = sum(sum(map(len, e.attributes.values())) for e in span.events) if span.events else 0
    return 1000 + sum(map(len, span.attributes.values())) + events


def log_size(record: LogRecord) -> int:
    """Approximate bytes that a log record keeps alive."""
    return 1000 + len(record.body) + sum(map(len, record.attributes.values()))


def log_identity(record: LogRecord) -> Hashable:
    """Identity of a log record: all that its sender set, since records have no id (as in the store)."""
    texts = (record.event_name, record.body, record.body_type, record.severity_text, record.service)
    maps = (record.attributes, record.attribute_types, record.resource_attributes)
    scope = (record.scope_name, record.scope_version, record.flags, record.severity_number)
    return (record.time, record.observed_time, texts, scope, *(frozenset(m.items()) for m in maps))
