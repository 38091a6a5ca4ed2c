"""OTLP JSON to stored spans and log records.

Read directly, not through protobuf's own JSON parser, which refuses a whole request for one wrong field. Hex ids in
any case; enums as integers or names; 64-bit integers as numbers or strings; only lowerCamelCase; the unknown ignored.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from opentelemetry.proto.logs.v1.logs_pb2 import SeverityNumber
from opentelemetry.proto.trace.v1.trace_pb2 import Span as ProtoSpan
from opentelemetry.proto.trace.v1.trace_pb2 import Status as ProtoStatus

from ....schemas.errors import PermanentError
from ....schemas.spans import LogRecord, Span, SpanEvent, SpanLink
from .build import Origin, build_event, build_link, build_log, build_span, span_ids, span_times
from .json_fields import UINT32, UINT64, Object, child, enum, identifier, integer, items, objects, text
from .json_load import load
from .json_values import attributes, stored
from .limits import Limits
from .rejections import Rejections
from .values import Cutter, Invalid


class _Names(NamedTuple):
    groups: str
    scopes: str
    items: str


_SPANS = _Names("resourceSpans", "scopeSpans", "spans")
_METRICS = _Names("resourceMetrics", "scopeMetrics", "metrics")
_LOGS = _Names("resourceLogs", "scopeLogs", "logRecords")
_KINDS = dict(ProtoSpan.SpanKind.items())
_STATUSES = dict(ProtoStatus.StatusCode.items())
_SEVERITIES = dict(SeverityNumber.items())
_POINTS = ("gauge", "sum", "histogram", "exponentialHistogram", "summary")


def decode_spans(body: bytes, received_at: int, limits: Limits, rejections: Rejections) -> list[Span]:
    """The valid spans of a request. Raises PermanentError where its frame cannot be read."""
    spans: list[Span] = []
    for origin, item in _walk(body, _SPANS, received_at, limits, rejections):
        try:
            spans.append(_span(item, origin, Cutter(limits)))
        except Invalid as reason:
            rejections.add(str(reason))
    return spans


def decode_logs(body: bytes, received_at: int, limits: Limits, rejections: Rejections) -> list[LogRecord]:
    """The valid log records of a request. Raises PermanentError where its frame cannot be read."""
    records: list[LogRecord] = []
    for origin, item in _walk(body, _LOGS, received_at, limits, rejections):
        try:
            records.append(_log(item, origin, Cutter(limits)))
        except Invalid as reason:
            rejections.add(str(reason))
    return records


def count_points(body: bytes, limits: Limits) -> int:
    """The data points of a metrics request. Raises PermanentError where its frame cannot be read."""
    try:
        return sum(
            len(items(child(metric, kind), "dataPoints"))
            for _, scopes in _groups(body, _METRICS, limits)
            for _, metrics in scopes
            for metric in metrics
            if isinstance(metric, dict)
            for kind in _POINTS
        )
    except Invalid as reason:
        raise PermanentError(str(reason)) from None


def _groups(body: bytes, names: _Names, limits: Limits) -> list[tuple[Object, list[tuple[Object, list[Any]]]]]:
    """Every resource's group with its scopes, each with its items."""
    groups = [
        (group, [(scoped, items(scoped, names.items)) for scoped in objects(group, names.scopes)])
        for group in objects(_request(body), names.groups)
    ]
    limits.check_items(sum(1 + sum(1 + len(found) for _, found in scopes) for _, scopes in groups))
    return groups


def _request(body: bytes) -> Object:
    # An empty body is an empty request, as it is in protobuf.
    tree = load(body) if body.strip() else {}
    if not isinstance(tree, dict):
        raise PermanentError("the body is not a JSON object")
    return tree


def _walk(
    body: bytes, names: _Names, received_at: int, limits: Limits, rejections: Rejections
) -> Iterator[tuple[Origin, Any]]:
    """Every item with where it comes from. Items of an unreadable resource or scope are rejected here."""
    try:
        for group, scopes in _groups(body, names, limits):
            try:
                shared = _origin(group, received_at, limits)
            except Invalid as reason:
                rejections.add(str(reason), sum(len(found) for _, found in scopes))
                continue
            for scoped, found in scopes:
                try:
                    origin = _scoped(shared, scoped, limits)
                except Invalid as reason:
                    rejections.add(str(reason), len(found))
                    continue
                for item in found:
                    yield origin, item
    except Invalid as reason:
        raise PermanentError(str(reason)) from None


def _origin(group: Object, received_at: int, limits: Limits) -> Origin:
    cutter = Cutter(limits)
    found = attributes(child(group, "resource"), cutter)
    return Origin(found.texts, found.types, "", "", received_at, cutter.cut)


def _scoped(shared: Origin, scoped: Object, limits: Limits) -> Origin:
    cutter = Cutter(limits)
    scope = child(scoped, "scope")
    return shared.in_scope(cutter.name(text(scope, "name")), cutter.name(text(scope, "version")), cutter.cut)


def _span(span: Any, origin: Origin, cutter: Cutter) -> Span:
    if not isinstance(span, dict):
        raise Invalid("a span is not an object")
    ids = span_ids(identifier(span, "traceId"), identifier(span, "spanId"), identifier(span, "parentSpanId"))
    start, end = span_times(
        integer(span, "startTimeUnixNano", UINT64), integer(span, "endTimeUnixNano", UINT64), origin, cutter
    )
    status = child(span, "status")
    return build_span(
        origin,
        cutter,
        attributes(span, cutter),
        ids=ids,
        name=text(span, "name"),
        start=start,
        end=end,
        events=_events(span, start, cutter),
        links=_links(span, cutter),
        kind=enum(span, "kind", _KINDS),
        status_code=enum(status, "code", _STATUSES),
        status_message=text(status, "message"),
        trace_state=text(span, "traceState"),
        flags=integer(span, "flags", UINT32),
        dropped=(
            integer(span, "droppedAttributesCount", UINT32),
            integer(span, "droppedEventsCount", UINT32),
            integer(span, "droppedLinksCount", UINT32),
        ),
    )


def _events(span: Object, start: int, cutter: Cutter) -> tuple[SpanEvent, ...]:
    return tuple(
        build_event(
            cutter,
            attributes(event, cutter),
            time=integer(event, "timeUnixNano", UINT64),
            name=text(event, "name"),
            default_time=start,
        )
        for event in cutter.head(objects(span, "events"), cutter.limits.events)
    )


def _links(span: Object, cutter: Cutter) -> tuple[SpanLink, ...]:
    built = (
        build_link(
            cutter,
            attributes(link, cutter),
            trace_id=identifier(link, "traceId"),
            span_id=identifier(link, "spanId"),
            trace_state=text(link, "traceState"),
        )
        for link in cutter.head(objects(span, "links"), cutter.limits.links)
    )
    return tuple(link for link in built if link)


def _log(record: Any, origin: Origin, cutter: Cutter) -> LogRecord:
    if not isinstance(record, dict):
        raise Invalid("a log record is not an object")
    return build_log(
        origin,
        cutter,
        attributes(record, cutter),
        trace_id=identifier(record, "traceId"),
        span_id=identifier(record, "spanId"),
        time=integer(record, "timeUnixNano", UINT64),
        observed_time=integer(record, "observedTimeUnixNano", UINT64),
        event_name=text(record, "eventName"),
        body=stored(child(record, "body"), cutter),
        severity_number=enum(record, "severityNumber", _SEVERITIES),
        severity_text=text(record, "severityText"),
        flags=integer(record, "flags", UINT32),
    )
