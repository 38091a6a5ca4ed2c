"""OTLP JSON, as objects with the fields of the messages that `decode` reads.

Read directly, not through protobuf's own JSON parser, which refuses a whole request for one wrong field. Hex ids in
any case; enums as integers or names; 64-bit integers as numbers or strings; keys in lowerCamelCase or snake_case;
unknown fields are ignored. A field is read, and checked, when it is asked for: it raises `Invalid` where its value has
another type.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NoReturn

from opentelemetry.proto.logs.v1.logs_pb2 import SeverityNumber
from opentelemetry.proto.trace.v1.trace_pb2 import Span as ProtoSpan
from opentelemetry.proto.trace.v1.trace_pb2 import Status as ProtoStatus

from tracejury.schemas.errors import PermanentError

from .json_fields import UINT32, UINT64, Object, child, enum, has, identifier, integer, items, objects, text
from .json_load import load
from .json_values import attributes, stored
from .limits import Limits
from .signals import METRICS, Signal, SignalSchema
from .values import Invalid

__all__ = ["attributes", "count_points", "groups", "stored"]

_POINTS = ("gauge", "sum", "histogram", "exponentialHistogram", "summary")

_PIECE: Final = 256 * 1024  # bytes: other threads run between two pieces
_WITHOUT_ITEMS: Final = {"resource", "scope", "schemaUrl", "schema_url"}
_BRACKETS: Final = (b"{", b"[", b",")


def groups(body: bytes, schema: SignalSchema, limits: Limits) -> list[Any]:
    """The resource groups of a request, as (group, [(scope group, items)]).

    Raises:
        TooLargeError: it holds more than `limits.items` or `limits.values`.
        PermanentError: its frame cannot be read.
    """
    limits.check_values(count_values(body, limits.values))
    request = _request(body)
    try:
        found = [
            (group, [(scoped, items(scoped, _camel(schema.items))) for scoped in objects(group, _camel(schema.scopes))])
            for group in objects(request, _camel(schema.resources))
        ]
    except Invalid as reason:
        raise PermanentError(str(reason)) from None
    limits.check_items(sum(1 + sum(1 + len(own) for _, own in scopes) for _, scopes in found))
    if not any(own for _, scopes in found for _, own in scopes):
        _check_empty(request, found, schema)
    return [
        (_JsonGroup(group), [(_JsonGroup(scoped), [_item(item, schema) for item in own]) for scoped, own in scopes])
        for group, scopes in found
    ]


def count_points(metric: Any) -> int:
    """The data points of a metric. Raises Invalid."""
    if not isinstance(metric.fields, dict):
        return 0
    return sum(len(items(child(metric.fields, kind), "dataPoints")) for kind in _POINTS)


def _request(body: bytes) -> Object:
    # An empty body is an empty request, as it is in protobuf.
    tree = load(body) if body.strip() else {}
    if not isinstance(tree, dict):
        raise PermanentError("the body is not a JSON object")
    return tree


def _check_empty(request: Object, found: list[Any], schema: SignalSchema) -> None:
    """Raises PermanentError where a request without items has fields that may have been meant to hold them.

    An unknown field is ignored beside items; to acknowledge a request of nothing else would lose it unseen.
    """
    path = [_camel(name) for name in (schema.resources, schema.scopes, schema.items)]
    levels = [[request], [group for group, _ in found], [scoped for _, scopes in found for scoped, _ in scopes]]
    for key, parts in zip(path, levels, strict=True):
        if any(part and not has(part, key) and not part.keys() <= _WITHOUT_ITEMS for part in parts):
            raise PermanentError(f"the body holds no {schema.noun}: they are looked for in {'[].'.join(path)}[]")


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


class _JsonObject:
    """A JSON object."""

    __slots__ = ("fields",)

    def __init__(self, fields: Any) -> None:
        self.fields = fields


def _text(key: str) -> Any:
    return property(lambda self: text(self.fields, key))


def _id(key: str) -> Any:
    return property(lambda self: identifier(self.fields, key))


def _uint32(key: str) -> Any:
    return property(lambda self: integer(self.fields, key, UINT32))


def _uint64(key: str) -> Any:
    return property(lambda self: integer(self.fields, key, UINT64))


def _enum(key: str, names: Mapping[str, int]) -> Any:
    return property(lambda self: enum(self.fields, key, names))


def _child(key: str, of: type[_JsonObject]) -> Any:
    return property(lambda self: of(child(self.fields, key)))


def _children(key: str, of: type[_JsonObject]) -> Any:
    return property(lambda self: list(map(of, objects(self.fields, key))))


class _JsonWithAttributes(_JsonObject):
    __slots__ = ()
    attributes = property(lambda self: objects(self.fields, "attributes"))


class _JsonScope(_JsonObject):
    __slots__ = ()
    name, version = _text("name"), _text("version")


class _JsonGroup(_JsonObject):
    __slots__ = ()
    resource, scope = _child("resource", _JsonWithAttributes), _child("scope", _JsonScope)


class _JsonEvent(_JsonWithAttributes):
    __slots__ = ()
    time_unix_nano, name = _uint64("timeUnixNano"), _text("name")


class _JsonLink(_JsonWithAttributes):
    __slots__ = ()
    trace_id, span_id, trace_state = _id("traceId"), _id("spanId"), _text("traceState")


class _JsonStatus(_JsonObject):
    __slots__ = ()
    code, message = _enum("code", dict(ProtoStatus.StatusCode.items())), _text("message")


class _JsonItem(_JsonWithAttributes):
    """A span or a log record."""

    __slots__ = ()
    trace_id, span_id, flags = _id("traceId"), _id("spanId"), _uint32("flags")


class _JsonSpan(_JsonItem):
    __slots__ = ()
    parent_span_id, name, trace_state = _id("parentSpanId"), _text("name"), _text("traceState")
    start_time_unix_nano, end_time_unix_nano = _uint64("startTimeUnixNano"), _uint64("endTimeUnixNano")
    kind, status = _enum("kind", dict(ProtoSpan.SpanKind.items())), _child("status", _JsonStatus)
    events, links = _children("events", _JsonEvent), _children("links", _JsonLink)
    dropped_attributes_count = _uint32("droppedAttributesCount")
    dropped_events_count, dropped_links_count = _uint32("droppedEventsCount"), _uint32("droppedLinksCount")


class _JsonLogRecord(_JsonItem):
    __slots__ = ()
    time_unix_nano, observed_time_unix_nano = _uint64("timeUnixNano"), _uint64("observedTimeUnixNano")
    event_name, severity_text = _text("eventName"), _text("severityText")
    severity_number = _enum("severityNumber", dict(SeverityNumber.items()))
    body = property(lambda self: child(self.fields, "body"))


class _NotAnObject:
    """An item that is no JSON object: reading any of its fields rejects it."""

    def __init__(self, noun: str) -> None:
        self._noun = noun

    def __getattr__(self, _name: str) -> NoReturn:
        raise Invalid(f"a {self._noun} is not an object")


_ITEM_TYPES: Mapping[Signal, type[_JsonObject]] = {
    Signal.TRACES: _JsonSpan,
    Signal.LOGS: _JsonLogRecord,
    Signal.METRICS: _JsonObject,
}


def _item(fields: Any, schema: SignalSchema) -> Any:
    if isinstance(fields, dict) or schema is METRICS:
        return _ITEM_TYPES[schema.signal](fields)
    return _NotAnObject(schema.noun.removesuffix("s"))


def count_values(body: bytes, most: int, piece: int = _PIECE) -> int:
    """Values in `body`, before it is parsed: parsed, an empty object of three bytes takes some 70.

    A value is counted by the bracket that opens it or by the comma before it; those within strings do not count.
    Counting ends once there are more than `most`. A text that is no JSON has any count.
    """
    if len(body) <= most:
        return len(body)  # a value takes a byte at least
    upper = sum(_count(body[at : at + piece]) for at in range(0, len(body), piece))
    return upper if upper <= most else _count_outside_strings(body, most, piece)


def _count(text: bytes) -> int:
    return sum(map(text.count, _BRACKETS))


def _count_outside_strings(body: bytes, most: int, size: int) -> int:
    count, quoted, held = 0, False, b""
    for at in range(0, len(body), size):
        piece = held + body[at : at + size]
        # A backslash that begins an escape stays with the byte that it escapes.
        held = b"\\" if (len(piece) - len(piece.rstrip(b"\\"))) % 2 else b""
        piece = piece.removesuffix(held).replace(rb"\\", b"").replace(rb"\"", b"")
        parts = piece.split(b'"')
        count += _count(b"".join(parts[quoted::2]))
        quoted ^= len(parts) % 2 == 0
        if count > most:
            break
    return count
