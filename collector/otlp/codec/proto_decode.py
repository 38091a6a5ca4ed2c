"""OTLP protobuf to stored spans and log records."""

from __future__ import annotations

from typing import TypeVar

from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord as ProtoLog
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span as ProtoSpan

from ....schemas.errors import PermanentError
from ....schemas.spans import LogRecord, Span
from .build import Origin, SpanIds, build_event, build_link, build_log, build_span, span_ids, span_times
from .limits import Limits
from .proto_count import count_messages
from .proto_values import attributes, stored
from .rejections import Rejections
from .values import Cutter, Invalid

M = TypeVar("M", bound=Message)


def decode_spans(body: bytes, received_at: int, limits: Limits, rejections: Rejections) -> list[Span]:
    """The valid spans of an `ExportTraceServiceRequest`. Raises PermanentError where it cannot be parsed."""
    spans: list[Span] = []
    for group in _parse(ExportTraceServiceRequest, body, limits).resource_spans:
        shared = _origin(group.resource, received_at, limits)
        for scoped in group.scope_spans:
            origin = _scoped(shared, scoped.scope, limits)
            for span in scoped.spans:
                try:
                    ids = span_ids(span.trace_id, span.span_id, span.parent_span_id)
                    spans.append(_span(span, ids, origin, Cutter(limits)))
                except Invalid as reason:
                    rejections.add(str(reason))
    return spans


def decode_logs(body: bytes, received_at: int, limits: Limits, rejections: Rejections) -> list[LogRecord]:
    """The valid records of an `ExportLogsServiceRequest`. Raises PermanentError where it cannot be parsed."""
    records: list[LogRecord] = []
    for group in _parse(ExportLogsServiceRequest, body, limits).resource_logs:
        shared = _origin(group.resource, received_at, limits)
        for scoped in group.scope_logs:
            origin = _scoped(shared, scoped.scope, limits)
            for record in scoped.log_records:
                try:
                    records.append(_log(record, origin, Cutter(limits)))
                except Invalid as reason:
                    rejections.add(str(reason))
    return records


def count_points(body: bytes, limits: Limits) -> int:
    """The data points of an `ExportMetricsServiceRequest`. Raises PermanentError where it cannot be parsed."""
    request = _parse(ExportMetricsServiceRequest, body, limits)
    metrics = (
        metric for group in request.resource_metrics for scoped in group.scope_metrics for metric in scoped.metrics
    )
    return sum(len(getattr(metric, kind).data_points) for metric in metrics if (kind := metric.WhichOneof("data")))


def _parse(message: type[M], body: bytes, limits: Limits) -> M:
    limits.check_items(count_messages(body, limits.items))
    try:
        return message.FromString(body)
    except DecodeError:
        raise PermanentError(
            f"not a valid {message.DESCRIPTOR.name}: the bytes are no protobuf of this type, "
            "a string is not UTF-8, or a value is nested too deep for protobuf"
        ) from None


def _origin(resource: Resource, received_at: int, limits: Limits) -> Origin:
    cutter = Cutter(limits)
    found = attributes(resource.attributes, cutter)
    return Origin(found.texts, found.types, "", "", received_at, cutter.cut)


def _scoped(shared: Origin, scope: InstrumentationScope, limits: Limits) -> Origin:
    cutter = Cutter(limits)
    return shared.in_scope(cutter.name(scope.name), cutter.name(scope.version), cutter.cut)


def _span(span: ProtoSpan, ids: SpanIds, origin: Origin, cutter: Cutter) -> Span:
    limits = cutter.limits
    start, end = span_times(span.start_time_unix_nano, span.end_time_unix_nano, origin, cutter)
    events = tuple(
        build_event(
            cutter, attributes(event.attributes, cutter), time=event.time_unix_nano, name=event.name, default_time=start
        )
        for event in cutter.head(span.events, limits.events)
    )
    links = tuple(
        built
        for link in cutter.head(span.links, limits.links)
        if (
            built := build_link(
                cutter,
                attributes(link.attributes, cutter),
                trace_id=link.trace_id,
                span_id=link.span_id,
                trace_state=link.trace_state,
            )
        )
    )
    status = span.status
    return build_span(
        origin,
        cutter,
        attributes(span.attributes, cutter),
        ids=ids,
        name=span.name,
        start=start,
        end=end,
        events=events,
        links=links,
        kind=span.kind,
        status_code=status.code,
        status_message=status.message,
        trace_state=span.trace_state,
        flags=span.flags,
        dropped=(span.dropped_attributes_count, span.dropped_events_count, span.dropped_links_count),
    )


def _log(record: ProtoLog, origin: Origin, cutter: Cutter) -> LogRecord:
    return build_log(
        origin,
        cutter,
        attributes(record.attributes, cutter),
        trace_id=record.trace_id,
        span_id=record.span_id,
        time=record.time_unix_nano,
        observed_time=record.observed_time_unix_nano,
        event_name=record.event_name,
        body=stored(record.body, cutter),
        severity_number=record.severity_number,
        severity_text=record.severity_text,
        flags=record.flags,
    )
