"""Rows of a trace: their sizes and their identity."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from tracejury.schemas.spans import LogRecord, Span

from .shared_texts import SharedAttributes, long_texts

TraceRows = tuple[Sequence[Span], Sequence[LogRecord]]


def span_size(span: Span) -> int:
    """Approximate bytes of a span, however many of its texts others share."""
    texts = long_texts(span) or sum(map(len, span.attributes.values()))
    events = sum(sum(map(len, e.attributes.values())) for e in span.events) if span.events else 0
    return 1000 + texts + events


def held_size(span: Span) -> int:
    """Approximate bytes that a span keeps alive beside those that were shared before it."""
    attributes = span.attributes
    return span_size(span) - (attributes.length - attributes.held if isinstance(attributes, SharedAttributes) else 0)


def log_size(record: LogRecord) -> int:
    """Approximate bytes that a log record keeps alive."""
    return 1000 + len(record.body) + sum(map(len, record.attributes.values()))


def log_identity(record: LogRecord) -> Hashable:
    """Identity of a log record: all that its sender set, since records have no id (as in the store)."""
    texts = (record.event_name, record.body, record.body_type, record.severity_text, record.service)
    maps = (record.attributes, record.attribute_types, record.resource_attributes)
    scope = (record.scope_name, record.scope_version, record.flags, record.severity_number)
    return (record.time, record.observed_time, texts, scope, *(frozenset(m.items()) for m in maps))
