"""TRAIL's JSON form of a trace to OTLP: `{"trace_id", "spans": [span with nested child_spans]}`.

Times are ISO 8601 (UTC where no zone is given), durations ISO 8601 ("PT1M48.75S"), status and kind capitalised names,
event and link keys in capitals. The dump holds every attribute value as text; it is passed on as it is. A span's
nested `logs` become OTLP log records. Spans stand in the order of their ends, as an exporter would have sent them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, cast

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs, SeverityNumber
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status

from tracejury.collector.otlp.codec.encode import pairs, value_of
from tracejury.collector.otlp.codec.groups import group
from tracejury.collector.otlp.codec.signals import LOGS, SPANS

Json = Mapping[str, Any]

_TIME = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:?\d\d)?", re.ASCII)
_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.ASCII)
_NANOS = 1_000_000_000


def is_trail(document: object) -> bool:
    """Whether decoded JSON has the shape of TRAIL's trace files."""
    return isinstance(document, dict) and "trace_id" in document and isinstance(document.get("spans"), list)


def parse(document: Json) -> tuple[ExportTraceServiceRequest, ExportLogsServiceRequest]:
    """The spans and the log records of one trace file, each as one request (perhaps empty).

    Raises:
        ValueError, KeyError, TypeError, AttributeError: the document does not have TRAIL's form.
    """
    spans = list(_walk(document["spans"]))
    sent = sorted(((_span(s), s) for s in spans), key=lambda pair: pair[0].end_time_unix_nano)
    logs = [log for s in spans for log in s.get("logs") or ()]
    return (
        group(SPANS, ((ResourceSpans(resource=_resource(s)), ScopeSpans(scope=_scope(s)), span) for span, s in sent)),
        group(LOGS, ((ResourceLogs(resource=_resource(e)), ScopeLogs(scope=_scope(e)), _log(e)) for e in logs)),
    )


def _walk(roots: Iterable[Json]) -> Iterator[Json]:
    stack = list(roots)[::-1]
    while stack:
        span = stack.pop()
        yield span
        stack.extend(reversed(span.get("child_spans") or []))


def _span(s: Json) -> Span:
    start = nanos(s["timestamp"])
    return Span(
        trace_id=bytes.fromhex(s["trace_id"]),
        span_id=bytes.fromhex(s["span_id"]),
        parent_span_id=bytes.fromhex(s.get("parent_span_id") or ""),
        trace_state=s.get("trace_state") or "",
        name=s["span_name"],
        kind=Span.SpanKind.Value("SPAN_KIND_" + (s.get("span_kind") or "unspecified").upper()),
        start_time_unix_nano=start,
        end_time_unix_nano=start + duration_nanos(s["duration"]),
        attributes=_attributes(s, "span_attributes"),
        events=[_event(_folded(e)) for e in s.get("events") or ()],
        links=[_link(_folded(link)) for link in s.get("links") or ()],
        status=Status(
            code=Status.StatusCode.Value("STATUS_CODE_" + (s.get("status_code") or "unset").upper()),
            message=s.get("status_message") or "",
        ),
    )


def _event(e: Json) -> Span.Event:
    return Span.Event(time_unix_nano=nanos(e["timestamp"]), name=e.get("name") or "", attributes=_attributes(e))


def _link(e: Json) -> Span.Link:
    return Span.Link(
        trace_id=bytes.fromhex(e["traceid"]),
        span_id=bytes.fromhex(e["spanid"]),
        trace_state=e.get("tracestate") or "",
        attributes=_attributes(e),
    )


def _log(entry: Json) -> LogRecord:
    return LogRecord(
        time_unix_nano=nanos(entry["timestamp"]),
        trace_id=bytes.fromhex(entry.get("trace_id") or ""),
        span_id=bytes.fromhex(entry.get("span_id") or ""),
        flags=entry.get("trace_flags") or 0,
        severity_number=cast("SeverityNumber.ValueType", entry.get("severity_number") or 0),
        severity_text=entry.get("severity_text") or "",
        body=value_of(entry.get("body")),
        attributes=_attributes(entry, "log_attributes"),
    )


def _resource(s: Json) -> Resource:
    own = dict(s.get("resource_attributes") or {})
    if s.get("service_name"):
        own.setdefault("service.name", s["service_name"])
    return Resource(attributes=pairs(own))


def _scope(s: Json) -> InstrumentationScope:
    return InstrumentationScope(
        name=s.get("scope_name") or "",
        version=s.get("scope_version") or "",
        attributes=_attributes(s, "scope_attributes"),
    )


def nanos(text: str) -> int:
    """An ISO 8601 time as unix nanoseconds, exact to the nanosecond.

    Raises:
        ValueError: not such a time.
    """
    found = _TIME.fullmatch(text)
    if not found:
        raise ValueError(f"not an ISO 8601 time: {text[:40]!r}")
    seconds, fraction, zone = found.groups()
    whole = datetime.fromisoformat(seconds + (zone or "Z")) - datetime(1970, 1, 1, tzinfo=UTC)
    return (whole.days * 86_400 + whole.seconds) * _NANOS + int((fraction or "0")[:9].ljust(9, "0"))


def duration_nanos(text: str) -> int:
    """An ISO 8601 duration of days to seconds as nanoseconds.

    Raises:
        ValueError: not such a duration.
    """
    found = _DURATION.fullmatch(text)
    if not found:
        raise ValueError(f"not an ISO 8601 duration: {text[:40]!r}")
    days, hours, minutes, seconds = (Decimal(part or 0) for part in found.groups())
    return int((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * _NANOS)


def _attributes(item: Json, key: str = "attributes") -> list[KeyValue]:
    return pairs(item.get(key) or {})


def _folded(item: Json) -> Json:
    # TimeStamp, trace_id and TraceId are the same key to the writers of such dumps.
    return {key.replace("_", "").lower(): value for key, value in item.items()}
