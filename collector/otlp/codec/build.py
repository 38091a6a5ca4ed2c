"""Stored spans and log records: the rules that hold for every encoding.

Rejected: a trace id that is not 16 bytes, a span id that is not 8, either all zero, a parent id that is neither
empty nor 8 bytes. Mended: a missing start is the end, else the arrival; a missing end is the start; a parent id of
zeros is no parent; enum values that the protocol does not know are "unspecified"; times beyond int64 (the year
2262) are clamped and count as cut. An end before its start is kept as sent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from tracejury.schemas.makers import maker
from tracejury.schemas.spans import LogRecord, Span, SpanEvent, SpanLink, StoredAttributes

from .limits import Limits
from .values import Invalid, Truncator

LATEST: Final = 2**63 - 1
_TRACE_BYTES, _SPAN_BYTES = 16, 8
_NO_TRACE, _NO_SPAN = bytes(_TRACE_BYTES), bytes(_SPAN_BYTES)
_SPAN_HEX: Final = re.compile(r"[0-9a-f]{16}")
_KINDS, _STATUSES, _SEVERITIES = range(6), range(3), range(25)
_new_span: Final = maker(Span)
_new_record: Final = maker(LogRecord)

Attributes: TypeAlias = tuple[StoredAttributes, Mapping[str, str]]
"""Stored texts, and the types of those that were not strings."""
ReadAttributes: TypeAlias = Callable[[Any, Truncator], Attributes]
ReadValue: TypeAlias = Callable[[Any, Truncator], tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Origin:
    """The resource and scope that spans share, and their project; `cut` counts what was cut there."""

    resource_attributes: StoredAttributes
    resource_attribute_types: Mapping[str, str]
    scope_name: str
    scope_version: str
    received_at: int
    tenant: str = ""
    cut: int = 0

    @classmethod
    def of(cls, resource: Any, received_at: int, limits: Limits, attributes: ReadAttributes, tenant: str) -> Origin:
        """The origin of a resource's items, without a scope. Raises Invalid."""
        truncator = Truncator(limits)
        return cls(*attributes(resource.attributes, truncator), "", "", received_at, tenant, truncator.cut)

    @property
    def size(self) -> int:
        """Bytes of the resource's attributes."""
        return sum(len(key.encode()) + len(text.encode()) for key, text in self.resource_attributes.items())

    def in_scope(self, scope: Any, limits: Limits) -> Origin:
        """The same resource, in a scope. Raises Invalid."""
        truncator = Truncator(limits)
        name, version = truncator.name(scope.name), truncator.name(scope.version)
        return replace(self, scope_name=name, scope_version=version, cut=self.cut + truncator.cut)


def span_from(span: Any, origin: Origin, truncator: Truncator, attributes: ReadAttributes) -> Span:
    """A stored span of a message, or of a JSON object with the message's fields.

    Raises:
        Invalid: an id is wrong, or a field cannot be read.
    """
    # The ids first: a span with wrong ids needs no further reading.
    trace_id, span_id, parent_id = _trace_hex(span.trace_id), _span_hex(span.span_id), _parent_hex(span.parent_span_id)
    start, end = _time(span.start_time_unix_nano, truncator), _time(span.end_time_unix_nano, truncator)
    start = start or end or origin.received_at
    status = span.status
    texts, types = attributes(span.attributes, truncator)
    name = truncator.name(span.name)
    events = tuple(
        [_event(event, start, truncator, attributes) for event in truncator.parts(span.events, truncator.limits.events)]
    )
    links = [_link(link, truncator, attributes) for link in truncator.parts(span.links, truncator.limits.links)]
    kind, status_code = span.kind, status.code
    of_logfire = texts.get("logfire.span_type") == "pending_span"
    if of_logfire:
        span_id, parent_id = _announced(span_id, parent_id, texts.get("logfire.pending_parent_id", ""))
    return _new_span(
        trace_id=trace_id,
        span_id=span_id,
        parent_span_id=parent_id,
        name=name,
        start=start,
        end=end or start,
        attributes=texts,
        attribute_types=types,
        events=events,
        links=tuple([link for link in links if link]),
        kind=kind if kind in _KINDS else 0,
        status_code=status_code if status_code in _STATUSES else 0,
        status_message=truncator.text(status.message),
        service=origin.resource_attributes.get("service.name", ""),
        resource_attributes=origin.resource_attributes,
        resource_attribute_types=origin.resource_attribute_types,
        scope_name=origin.scope_name,
        scope_version=origin.scope_version,
        trace_state=truncator.text(span.trace_state),
        flags=span.flags,
        dropped_attributes=span.dropped_attributes_count,
        dropped_events=span.dropped_events_count,
        dropped_links=span.dropped_links_count,
        received_at=origin.received_at,
        pending=of_logfire or texts.get("tracejury.pending") == "true",
        cut=truncator.cut + origin.cut,
        tenant=origin.tenant,
    )


def _announced(span_id: str, parent_id: str, above: str) -> tuple[str, str]:
    """The ids of the span that a pending span of Logfire announces, its parent, and of the parent of that one.

    `above`, an attribute, gives the latter: 16 hex digits, zeros for none.
    """
    if not parent_id or not _SPAN_HEX.fullmatch(above):
        return span_id, parent_id
    return parent_id, above.strip("0") and above


def _event(event: Any, default_time: int, truncator: Truncator, attributes: ReadAttributes) -> SpanEvent:
    """A stored event; one without a time gets `default_time` (its span's start)."""
    texts, types = attributes(event.attributes, truncator)
    return SpanEvent(_time(event.time_unix_nano, truncator) or default_time, truncator.name(event.name), texts, types)


def _link(link: Any, truncator: Truncator, attributes: ReadAttributes) -> SpanLink | None:
    """A stored link, or None (counted as cut) where it points nowhere: its span must not suffer for it."""
    texts, types = attributes(link.attributes, truncator)
    trace_state = truncator.text(link.trace_state)
    try:
        return SpanLink(_trace_hex(link.trace_id), _span_hex(link.span_id), trace_state, texts, types)
    except Invalid:
        truncator.cut += 1
        return None


def log_from(
    record: Any, origin: Origin, truncator: Truncator, attributes: ReadAttributes, stored: ReadValue
) -> LogRecord:
    """A stored log record of a message, or of a JSON object with the message's fields. Its ids may be missing.

    Raises:
        Invalid: an id has the wrong length, or a field cannot be read.
    """
    texts, types = attributes(record.attributes, truncator)
    trace_id, span_id, time = record.trace_id, record.span_id, record.time_unix_nano
    observed = _time(record.observed_time_unix_nano, truncator) or origin.received_at
    event_name = record.event_name
    body, body_type = stored(record.body, truncator)
    severity, severity_text, flags = record.severity_number, record.severity_text, record.flags
    return _new_record(
        trace_id=_trace_hex(trace_id) if trace_id not in (b"", _NO_TRACE) else "",
        span_id=_span_hex(span_id) if span_id not in (b"", _NO_SPAN) else "",
        time=_time(time, truncator) or observed,
        observed_time=observed,
        # The field is newer than the attribute, and many instrumentations still send the latter.
        event_name=truncator.name(event_name or texts.get("event.name", "")),
        body=body,
        body_type=body_type,
        attributes=texts,
        attribute_types=types,
        severity_number=severity if severity in _SEVERITIES else 0,
        severity_text=truncator.name(severity_text),
        service=origin.resource_attributes.get("service.name", ""),
        resource_attributes=origin.resource_attributes,
        scope_name=origin.scope_name,
        scope_version=origin.scope_version,
        flags=flags,
        received_at=origin.received_at,
        cut=truncator.cut + origin.cut,
        tenant=origin.tenant,
    )


def _time(nanos: int, truncator: Truncator) -> int:
    if nanos <= LATEST:
        return nanos
    truncator.cut += 1
    return LATEST


def _trace_hex(raw: bytes) -> str:
    if len(raw) != _TRACE_BYTES:
        raise Invalid("trace id is not 16 bytes")
    if raw == _NO_TRACE:
        raise Invalid("trace id is all zero")
    return raw.hex()


def _span_hex(raw: bytes) -> str:
    if len(raw) != _SPAN_BYTES:
        raise Invalid("span id is not 8 bytes")
    if raw == _NO_SPAN:
        raise Invalid("span id is all zero")
    return raw.hex()


def _parent_hex(raw: bytes) -> str:
    if raw in (b"", _NO_SPAN):
        return ""
    if len(raw) != _SPAN_BYTES:
        raise Invalid("parent span id is not 8 bytes")
    return raw.hex()
