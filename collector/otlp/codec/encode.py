"""Stored spans and log records as OTLP protobuf; decoding it gives what is stored."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, cast

import orjson
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord as ProtoLog
from opentelemetry.proto.logs.v1.logs_pb2 import SeverityNumber
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span as ProtoSpan
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from tracejury.schemas.spans import LogRecord, Span, StoredAttributes

Plain: TypeAlias = Any
"""The value of an attribute: text, bool, int, float, bytes, None, and lists and mappings of these."""

_INT64: Final = range(-(2**63), 2**63)


def value_of(plain: Plain) -> AnyValue:
    """A plain value as OTLP has it; an integer beyond 64 bits becomes a double, as JSON's readers have it."""
    make = next((make for kind, make in _MAKERS if isinstance(plain, kind)), None)
    return make(plain) if make else AnyValue()


def pairs(plain: Mapping[str, Plain]) -> list[KeyValue]:
    """Attributes given by plain values."""
    return [KeyValue(key=key, value=value_of(value)) for key, value in plain.items()]


def restored(text: str, kind: str) -> AnyValue:
    """The value that is stored as `text` and was of `kind` (see schemas/spans.py); what does not fit is a string."""
    try:
        return value_of(_PLAIN[kind](text)) if kind != "string" else AnyValue(string_value=text)
    except (KeyError, ValueError, binascii.Error):
        return AnyValue(string_value=text)


def attributes(texts: StoredAttributes, types: Mapping[str, str]) -> list[KeyValue]:
    """Stored attributes as they were sent."""
    return [KeyValue(key=key, value=restored(text, types.get(key, "string"))) for key, text in texts.items()]


def resource_of(texts: StoredAttributes, types: Mapping[str, str]) -> Resource:
    """The resource of stored attributes."""
    return Resource(attributes=attributes(texts, types))


def scope_of(name: str, version: str) -> InstrumentationScope:
    """The scope as far as it is stored."""
    return InstrumentationScope(name=name, version=version)


def span_message(span: Span, trace_state: str) -> ProtoSpan:
    """The span as it was received, but for its tracestate."""
    return ProtoSpan(
        trace_id=bytes.fromhex(span.trace_id),
        span_id=bytes.fromhex(span.span_id),
        parent_span_id=bytes.fromhex(span.parent_span_id),
        trace_state=trace_state,
        flags=span.flags,
        name=span.name,
        kind=cast("ProtoSpan.SpanKind.ValueType", span.kind),
        start_time_unix_nano=span.start,
        end_time_unix_nano=span.end,
        attributes=attributes(span.attributes, span.attribute_types),
        dropped_attributes_count=span.dropped_attributes,
        events=[
            ProtoSpan.Event(time_unix_nano=e.time, name=e.name, attributes=attributes(e.attributes, e.attribute_types))
            for e in span.events
        ],
        dropped_events_count=span.dropped_events,
        links=[
            ProtoSpan.Link(
                trace_id=bytes.fromhex(link.trace_id),
                span_id=bytes.fromhex(link.span_id),
                trace_state=link.trace_state,
                attributes=attributes(link.attributes, link.attribute_types),
            )
            for link in span.links
        ],
        dropped_links_count=span.dropped_links,
        status=_status(span),
    )


def _status(span: Span) -> Status | None:
    if not span.status_code and not span.status_message:
        return None
    return Status(code=cast("Status.StatusCode.ValueType", span.status_code), message=span.status_message)


def log_message(record: LogRecord) -> ProtoLog:
    """The log record as it was received."""
    return ProtoLog(
        trace_id=bytes.fromhex(record.trace_id),
        span_id=bytes.fromhex(record.span_id),
        time_unix_nano=record.time,
        observed_time_unix_nano=record.observed_time,
        event_name=record.event_name,
        body=restored(record.body, record.body_type),
        attributes=attributes(record.attributes, record.attribute_types),
        severity_number=cast("SeverityNumber.ValueType", record.severity_number),
        severity_text=record.severity_text,
        flags=record.flags,
    )


_MAKERS: Final[tuple[tuple[Any, Callable[[Any], AnyValue]], ...]] = (
    (str, lambda plain: AnyValue(string_value=plain)),
    (bool, lambda plain: AnyValue(bool_value=plain)),  # before int, which it is one of
    (int, lambda plain: AnyValue(int_value=plain) if plain in _INT64 else AnyValue(double_value=float(plain))),
    (float, lambda plain: AnyValue(double_value=plain)),
    (bytes, lambda plain: AnyValue(bytes_value=plain)),
    (list | tuple, lambda plain: AnyValue(array_value=ArrayValue(values=map(value_of, plain)))),
    (Mapping, lambda plain: AnyValue(kvlist_value=KeyValueList(values=pairs(plain)))),
)

_PLAIN: Final[Mapping[str, Any]] = {
    "int": int,
    "double": float,
    "bool": {"true": True, "false": False}.__getitem__,
    "bytes": lambda text: base64.b64decode(text, validate=True),
    "array": orjson.loads,
    "kvlist": orjson.loads,
    "empty": lambda _: None,
}
"""From stored text to a plain value, by kind; `float` also reads NaN and the infinities as OTLP's JSON writes them."""
