"""Spans and log records from the parts that a decoder read: the rules that hold for every encoding.

Rejected: a trace id that is not 16 bytes, a span id that is not 8, either all zero, a parent id that is neither
empty nor 8 bytes. Mended: a missing start is the end, else the arrival; a missing end is the start; a parent id of
zeros is no parent; enum values that the protocol does not know are "unspecified"; times beyond int64 (the year
2262) are clamped and count as cut. An end before its start is kept as sent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from ....schemas.spans import LogRecord, Span, SpanEvent, SpanLink, StoredAttributes
from .values import Cutter, Invalid

LATEST: Final = 2**63 - 1
_TRACE_BYTES, _SPAN_BYTES = 16, 8
_NO_TRACE, _NO_SPAN = bytes(_TRACE_BYTES), bytes(_SPAN_BYTES)
_SPAN_HEX: Final = re.compile(r"[0-9a-f]{16}")
_KINDS, _STATUSES, _SEVERITIES = range(6), range(3), range(25)


@dataclass(frozen=True, slots=True)
class Origin:
    """What the spans of one resource and scope share; `cut` counts what was cut there."""

    resource_attributes: StoredAttributes
    resource_attribute_types: Mapping[str, str]
    scope_name: str
    scope_version: str
    received_at: int
    cut: int = 0

    def in_scope(self, name: str, version: str, cut: int) -> Origin:
        """The same resource, in a scope."""
        return replace(self, scope_name=name, scope_version=version, cut=self.cut + cut)


class SpanIds(NamedTuple):
    """Ids in hex as they are stored."""

    trace: str
    span: str
    parent: str


@dataclass(frozen=True, slots=True)
class Attributes:
    """Stored texts and the types of those that were not strings."""

    texts: StoredAttributes
    types: Mapping[str, str]


def span_times(start: int, end: int, origin: Origin, cutter: Cutter) -> tuple[int, int]:
    """Start and end in unix nanos, both set and within int64."""
    start, end = _time(start, cutter), _time(end, cutter)
    start = start or end or origin.received_at
    return start, end or start


def span_ids(trace_id: bytes, span_id: bytes, parent_span_id: bytes) -> SpanIds:
    """The ids in hex; "" for no parent. Ask this first: a span with wrong ids needs no further reading.

    Raises:
        Invalid: one of them is wrong.
    """
    return SpanIds(_trace_hex(trace_id), _span_hex(span_id), _parent_hex(parent_span_id))


def build_span(
    origin: Origin,
    cutter: Cutter,
    attributes: Attributes,
    *,
    ids: SpanIds,
    name: str,
    start: int,
    end: int,
    events: tuple[SpanEvent, ...],
    links: tuple[SpanLink, ...],
    kind: int,
    status_code: int,
    status_message: str,
    trace_state: str,
    flags: int,
    dropped: tuple[int, int, int],
) -> Span:
    """A stored span; times as `span_times` gives them, `dropped` counts attributes, events and links."""
    texts = attributes.texts
    of_logfire = texts.get("logfire.span_type") == "pending_span"
    announced = _announced(ids, texts.get("logfire.pending_parent_id", "")) if of_logfire else ids
    return Span(
        trace_id=announced.trace,
        span_id=announced.span,
        parent_span_id=announced.parent,
        name=cutter.name(name),
        start=start,
        end=end,
        attributes=texts,
        attribute_types=attributes.types,
        events=events,
        links=links,
        kind=kind if kind in _KINDS else 0,
        status_code=status_code if status_code in _STATUSES else 0,
        status_message=cutter.text(status_message),
        service=origin.resource_attributes.get("service.name", ""),
        resource_attributes=origin.resource_attributes,
        resource_attribute_types=origin.resource_attribute_types,
        scope_name=origin.scope_name,
        scope_version=origin.scope_version,
        trace_state=cutter.text(trace_state),
        flags=flags,
        dropped_attributes=dropped[0],
        dropped_events=dropped[1],
        dropped_links=dropped[2],
        received_at=origin.received_at,
        pending=of_logfire or texts.get("tracejury.pending") == "true",
        cut=cutter.cut + origin.cut,
    )


def _announced(ids: SpanIds, parent: str) -> SpanIds:
    """Whom a pending span of Logfire announces: it has an id of its own, below that of the span that has begun.

    The parent of that one stands in an attribute: 16 hex digits, zeros for none.
    """
    if not ids.parent or not _SPAN_HEX.fullmatch(parent):
        return ids
    return SpanIds(ids.trace, ids.parent, parent.strip("0") and parent)


def build_event(cutter: Cutter, attributes: Attributes, *, time: int, name: str, default_time: int) -> SpanEvent:
    """A stored event; one without a time gets `default_time` (its span's start)."""
    return SpanEvent(_time(time, cutter) or default_time, cutter.name(name), attributes.texts, attributes.types)


def build_link(
    cutter: Cutter, attributes: Attributes, *, trace_id: bytes, span_id: bytes, trace_state: str
) -> SpanLink | None:
    """A stored link, or None (counted as cut) where it points nowhere: its span must not suffer for it."""
    try:
        ids = _trace_hex(trace_id), _span_hex(span_id)
        return SpanLink(*ids, cutter.text(trace_state), attributes.texts, attributes.types)
    except Invalid:
        cutter.cut += 1
        return None


def build_log(
    origin: Origin,
    cutter: Cutter,
    attributes: Attributes,
    *,
    trace_id: bytes,
    span_id: bytes,
    time: int,
    observed_time: int,
    event_name: str,
    body: tuple[str, str],
    severity_number: int,
    severity_text: str,
    flags: int,
) -> LogRecord:
    """A stored log record; ids may be missing, `body` is text and type.

    Raises:
        Invalid: an id has the wrong length.
    """
    observed = _time(observed_time, cutter) or origin.received_at
    return LogRecord(
        trace_id=_trace_hex(trace_id) if trace_id not in (b"", _NO_TRACE) else "",
        span_id=_span_hex(span_id) if span_id not in (b"", _NO_SPAN) else "",
        time=_time(time, cutter) or observed,
        observed_time=observed,
        # The field is newer than the attribute, and many instrumentations still send the latter.
        event_name=cutter.name(event_name or attributes.texts.get("event.name", "")),
        body=body[0],
        body_type=body[1],
        attributes=attributes.texts,
        attribute_types=attributes.types,
        severity_number=severity_number if severity_number in _SEVERITIES else 0,
        severity_text=cutter.name(severity_text),
        service=origin.resource_attributes.get("service.name", ""),
        resource_attributes=origin.resource_attributes,
        scope_name=origin.scope_name,
        scope_version=origin.scope_version,
        flags=flags,
        received_at=origin.received_at,
        cut=cutter.cut + origin.cut,
    )


def _time(nanos: int, cutter: Cutter) -> int:
    if nanos <= LATEST:
        return nanos
    cutter.cut += 1
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
