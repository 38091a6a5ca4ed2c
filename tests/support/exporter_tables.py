"""Tables of the OpenTelemetry Collector's ClickHouse exporter, as three of its versions make and fill them.

OLD is of 2023 (no scope columns, signed duration, `SPAN_KIND_CLIENT`), MAPS of today, JSON of today with `json: true`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any

import chdb
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tracejury.collector.otlp.codec.groups import Request, rows, schema_of
from tracejury.collector.otlp.codec.signals import SPANS


class Version(StrEnum):
    """A version of the exporter's schema."""

    OLD = "old"
    MAPS = "maps"
    JSON = "json"


_COLUMNS = {
    Version.OLD: ("Map(LowCardinality(String), String)", "", "Int64", ""),
    Version.MAPS: ("Map(LowCardinality(String), String)", "ScopeName String, ScopeVersion String,", "UInt64", ""),
    Version.JSON: ("JSON", "ScopeName String, ScopeVersion String,", "UInt64",
                   "ResourceAttributesKeys Array(String), SpanAttributesKeys Array(LowCardinality(String)),"),
}  # fmt: skip


def made(folder: Path, database: str, version: Version) -> None:
    """The database with its tables, as the exporter makes them."""
    kind, scope, duration, more = _COLUMNS[version]
    maps = (
        ""
        if version is Version.JSON
        else "INDEX idx_key mapKeys(SpanAttributes) TYPE bloom_filter(0.01) GRANULARITY 1,"
    )
    run(folder, f"CREATE DATABASE {database}")
    run(
        folder,
        f"""CREATE TABLE {database}.otel_traces (
        Timestamp DateTime64(9) CODEC(Delta, ZSTD(1)), TraceId String CODEC(ZSTD(1)), SpanId String CODEC(ZSTD(1)),
        ParentSpanId String CODEC(ZSTD(1)), TraceState String, SpanName LowCardinality(String),
        SpanKind LowCardinality(String), ServiceName LowCardinality(String), ResourceAttributes {kind}, {scope}
        SpanAttributes {kind}, Duration {duration}, StatusCode LowCardinality(String), StatusMessage String,
        Events Nested (Timestamp DateTime64(9), Name LowCardinality(String), Attributes {kind}),
        Links Nested (TraceId String, SpanId String, TraceState String, Attributes {kind}),
        {more} INDEX idx_trace_id TraceId TYPE bloom_filter(0.001) GRANULARITY 1, {maps}
        INDEX idx_duration Duration TYPE minmax GRANULARITY 1
        ) ENGINE = MergeTree() PARTITION BY toDate(Timestamp)
        ORDER BY (ServiceName, SpanName, toDateTime(Timestamp)) SETTINGS ttl_only_drop_parts = 1""",
    )
    event = "" if version is Version.OLD else "EventName String,"
    run(
        folder,
        f"""CREATE TABLE {database}.otel_logs (
        Timestamp DateTime64(9), TimestampTime DateTime DEFAULT toDateTime(Timestamp), TraceId String, SpanId String,
        TraceFlags UInt8, SeverityText LowCardinality(String), SeverityNumber UInt8,
        ServiceName LowCardinality(String), Body String, ResourceSchemaUrl LowCardinality(String),
        ResourceAttributes {kind}, ScopeName String, ScopeVersion LowCardinality(String), LogAttributes {kind}, {event}
        INDEX idx_trace_id TraceId TYPE bloom_filter(0.001) GRANULARITY 1
        ) ENGINE = MergeTree() PARTITION BY toDate(TimestampTime)
        PRIMARY KEY (ServiceName, TimestampTime) ORDER BY (ServiceName, TimestampTime, Timestamp)""",
    )


def run(folder: Path, sql: str) -> str:
    """What the engine in `folder` answers, as tab-separated text."""
    connection = chdb.connect(str(folder))  # type: ignore[no-untyped-call]  # chdb has no annotations there
    try:
        return str(connection.query(sql, "TabSeparated"))
    finally:
        connection.close()


def filled(folder: Path, database: str, version: Version, requests: Iterable[Request]) -> None:
    """Insert spans and log records as that version of the exporter does."""
    lines: dict[str, list[str]] = {"otel_traces": [], "otel_logs": []}
    for request in requests:
        spans = schema_of(request) is SPANS
        make = span_row if spans else log_row
        for resource, scope, item in rows(request):
            row = make(item, resource.resource, scope.scope, version)
            lines["otel_traces" if spans else "otel_logs"].append(json.dumps(row))
    for table, found in lines.items():
        if found:
            run(folder, f"INSERT INTO {database}.{table} FORMAT JSONEachRow " + "\n".join(found))


def span_row(span: Span, resource: Any, scope: Any, version: Version) -> dict[str, Any]:
    """A row of `otel_traces`."""
    kind, status = Span.SpanKind.Name(span.kind), ("UNSET", "OK", "ERROR")[span.status.code]
    old = version is Version.OLD
    attributes = _attributes(span.attributes, version)
    scoped = {"ScopeName": scope.name, "ScopeVersion": scope.version}
    if old:
        said = {"otel.scope.name": scope.name, "otel.scope.version": scope.version}
        attributes |= {key: value for key, value in said.items() if value}
        scoped = {}
    duration = span.end_time_unix_nano - span.start_time_unix_nano
    return {
        "Timestamp": _time(span.start_time_unix_nano),
        "TraceId": span.trace_id.hex(),
        "SpanId": span.span_id.hex(),
        "ParentSpanId": span.parent_span_id.hex(),
        "TraceState": span.trace_state,
        "SpanName": span.name,
        "SpanKind": kind if old else kind.removeprefix("SPAN_KIND_").capitalize(),
        "ServiceName": next((a.value.string_value for a in resource.attributes if a.key == "service.name"), ""),
        "ResourceAttributes": _attributes(resource.attributes, version),
        "SpanAttributes": attributes,
        "Duration": duration if old else duration % 2**64,
        "StatusCode": f"STATUS_CODE_{status}" if old else status.capitalize(),
        "StatusMessage": span.status.message,
        "Events.Timestamp": [_time(event.time_unix_nano) for event in span.events],
        "Events.Name": [event.name for event in span.events],
        "Events.Attributes": [_attributes(event.attributes, version) for event in span.events],
        "Links.TraceId": [link.trace_id.hex() for link in span.links],
        "Links.SpanId": [link.span_id.hex() for link in span.links],
        "Links.TraceState": [link.trace_state for link in span.links],
        "Links.Attributes": [_attributes(link.attributes, version) for link in span.links],
        **scoped,
    }


def log_row(record: Any, resource: Any, scope: Any, version: Version) -> dict[str, Any]:
    """A row of `otel_logs`."""
    row = {
        "Timestamp": _time(record.time_unix_nano or record.observed_time_unix_nano),
        "TraceId": record.trace_id.hex(),
        "SpanId": record.span_id.hex(),
        "TraceFlags": record.flags,
        "SeverityText": record.severity_text,
        "SeverityNumber": record.severity_number,
        "ServiceName": next((a.value.string_value for a in resource.attributes if a.key == "service.name"), ""),
        "Body": _text(record.body),
        "ResourceAttributes": _attributes(resource.attributes, version),
        "ScopeName": scope.name,
        "ScopeVersion": scope.version,
        "LogAttributes": _attributes(record.attributes, version),
    }
    return row if version is Version.OLD else row | {"EventName": record.event_name}


def _time(nanos: int) -> str:
    return f"{nanos // 10**9}.{nanos % 10**9:09}"


def _attributes(pairs: Iterable[KeyValue], version: Version) -> dict[str, Any]:
    read = _raw if version is Version.JSON else _text
    return {pair.key: read(pair.value) for pair in pairs}


def _raw(value: AnyValue) -> Any:
    """The value as Go's `AsRaw` has it."""
    match value.WhichOneof("value"):
        case "array_value":
            return [_raw(item) for item in value.array_value.values]
        case "kvlist_value":
            return {pair.key: _raw(pair.value) for pair in value.kvlist_value.values}
        case "bytes_value":
            return base64.b64encode(value.bytes_value).decode()
        case None:
            return None
        case kind:
            return getattr(value, kind)


def _text(value: AnyValue) -> str:
    """The value as Go's `AsString` has it: JSON in sorted order, whose <, > and & are escaped, and 1.0 is 1."""
    raw = _raw(value)
    if isinstance(raw, str):
        return raw
    if raw is None:
        return ""
    if isinstance(raw, float) and raw.is_integer():
        return str(int(raw))
    text = json.dumps(raw, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return "".join(_escapes(text)) if isinstance(raw, list | dict) else text


def _escapes(text: str) -> Iterator[str]:
    for character in text:
        yield f"\\u{ord(character):04x}" if character in "<>&" else character
