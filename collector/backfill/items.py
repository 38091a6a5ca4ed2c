"""Rows of the exporter's tables, as `TableSchema.select` reads them, to spans and log records of OTLP. Pure.

A column of type Map has lost the types of attributes: a number is the text that it was written as, which is what
normalisers read. A string stays a string, whatever it looks like: so patterns of redaction are searched in each value.
A column of type JSON has kept numbers, booleans and lists, but holds `a.b` as an object of an object.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status

from tracejury.collector.otlp.codec.encode import pairs
from tracejury.collector.otlp.codec.groups import Row

TRACE_ID: Final = re.compile(r"(?!0{32})[0-9a-fA-F]{32}")
_SPAN_ID: Final = re.compile(r"(?!0{16})[0-9a-fA-F]{16}")
MAX_NAMED: Final = 5
OBJECTS: Final = frozenset({"gen_ai.tool.call.arguments", "gen_ai.tool.call.result"})
"""Attributes whose value is an object by the semantic conventions: it is not taken apart."""
_SCOPE_NAME, _SCOPE_VERSION = "otel.scope.name", "otel.scope.version"
_CODES: Final = {"OK": 1, "ERROR": 2}


@dataclass(slots=True)
class BadRows:
    """How many rows or ids could not be sent, and some of them."""

    count: int = 0
    named: list[str] = field(default_factory=list)

    def add(self, what: str, value: str, count: int = 1) -> None:
        """Count it; the first few are named."""
        self.count += count
        if len(self.named) < MAX_NAMED:
            self.named.append(f"{what} {value[:64]!r}")


def span_row(row: Mapping[str, Any], bad: BadRows) -> Row | None:
    """The span of a row, with its resource and scope; None, counted in `bad`, where it is none."""
    ids = _ids(row, bad)
    attributes, resource = _attributes(row["SpanAttributes"]), _attributes(row["ResourceAttributes"])
    if ids is None or attributes is None or resource is None:
        if ids is not None:
            bad.add("attributes of the span", row["SpanId"])
        return None
    name, version = row["ScopeName"], row["ScopeVersion"]
    if not name and _SCOPE_NAME in attributes:  # where older versions of the exporter put them
        name, version = attributes.pop(_SCOPE_NAME), attributes.pop(_SCOPE_VERSION, "")
    start = row["Timestamp"]
    code = _CODES.get(row["StatusCode"].upper().removeprefix("STATUS_CODE_"), 0)
    span = Span(
        trace_id=ids[0],
        span_id=ids[1],
        parent_span_id=_hex(_SPAN_ID, "parent span id", row["ParentSpanId"].strip("0") and row["ParentSpanId"], bad),
        trace_state=row["TraceState"],
        name=row["SpanName"],
        kind=_kind(row["SpanKind"]),
        start_time_unix_nano=start,
        end_time_unix_nano=max(start + row["Duration"], 0),
        attributes=pairs(attributes),
        events=[
            Span.Event(time_unix_nano=time, name=name, attributes=pairs(_attributes(text) or {}))
            for time, name, text in _nested(row, "Events", "Timestamp", "Name", "Attributes")
        ],
        links=[
            Span.Link(
                trace_id=_hex(TRACE_ID, "trace id of a link", trace_id, bad),
                span_id=_hex(_SPAN_ID, "span id of a link", span_id, bad),
                trace_state=state,
                attributes=pairs(_attributes(text) or {}),
            )
            for trace_id, span_id, state, text in _nested(row, "Links", "TraceId", "SpanId", "TraceState", "Attributes")
        ],
        status=Status(code=code, message=row["StatusMessage"]) if code or row["StatusMessage"] else None,  # type: ignore[arg-type]
    )
    scope = InstrumentationScope(name=name, version=version)
    return ResourceSpans(resource=_resource(row, resource)), ScopeSpans(scope=scope), span


def log_row(row: Mapping[str, Any], bad: BadRows) -> Row | None:
    """The log record of a row, as `span_row`. The table has no observed time: it is the record's time, at each run."""
    ids = _ids(row, bad, needs_span=False)
    attributes, resource = _attributes(row["LogAttributes"]), _attributes(row["ResourceAttributes"])
    if ids is None or attributes is None or resource is None:
        if ids is not None:
            bad.add("attributes of a log record in trace", row["TraceId"])
        return None
    record = LogRecord(
        trace_id=ids[0],
        span_id=ids[1],
        time_unix_nano=row["Timestamp"],
        observed_time_unix_nano=row["Timestamp"],
        flags=row["TraceFlags"],
        severity_number=row["SeverityNumber"],
        severity_text=row["SeverityText"],
        event_name=row["EventName"],
        attributes=pairs(attributes),
    )
    record.body.string_value = row["Body"]
    scope = InstrumentationScope(name=row["ScopeName"], version=row["ScopeVersion"])
    return ResourceLogs(resource=_resource(row, resource)), ScopeLogs(scope=scope), record


def _ids(row: Mapping[str, Any], bad: BadRows, *, needs_span: bool = True) -> tuple[bytes, bytes] | None:
    trace_id = _hex(TRACE_ID, "trace id", row["TraceId"], bad, needed=True)
    span_id = _hex(_SPAN_ID, "span id", row["SpanId"], bad, needed=needs_span)
    return (trace_id, span_id) if trace_id and (span_id or not needs_span) else None


def _hex(pattern: re.Pattern[str], what: str, text: str, bad: BadRows, *, needed: bool = False) -> bytes:
    if pattern.fullmatch(text):
        return bytes.fromhex(text)
    if text or needed:
        bad.add(what, text)
    return b""


def _kind(text: str) -> Any:
    """SPAN_KIND_CLIENT in older versions, Client in newer ones."""
    name = f"SPAN_KIND_{text.upper().removeprefix('SPAN_KIND_')}"
    return Span.SpanKind.Value(name) if name in Span.SpanKind.keys() else 0  # noqa: SIM118  no mapping


def _resource(row: Mapping[str, Any], attributes: dict[str, Any]) -> Resource:
    if row["ServiceName"]:
        attributes.setdefault("service.name", row["ServiceName"])
    return Resource(attributes=pairs(attributes))


def _nested(row: Mapping[str, Any], group: str, *parts: str) -> Iterator[Sequence[Any]]:
    return zip(*(row[f"{group}.{part}"] for part in parts), strict=True)


def _attributes(text: str) -> dict[str, Any] | None:
    """Attributes by their dotted keys; None where the text is no JSON object."""
    try:
        found = orjson.loads(text or "{}")
    except orjson.JSONDecodeError:
        return None
    return dict(_flat(found, "")) if isinstance(found, dict) else None


def _flat(values: Mapping[str, Any], above: str) -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        name = above + key
        if isinstance(value, dict) and name not in OBJECTS:
            yield from _flat(value, f"{name}.")
        else:
            yield name, value
