"""The endpoint for the OTLP/JSON of a trace: its spans and logs as requests, to be replayed, judged or evaluated."""

from __future__ import annotations

from fastapi import FastAPI, Response
from opentelemetry.proto.logs.v1.logs_pb2 import ResourceLogs, ScopeLogs
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans

from tracejury.collector.otlp.codec.encode import log_message, resource_of, scope_of, span_message
from tracejury.collector.otlp.codec.groups import Request, Row, group
from tracejury.collector.otlp.codec.otlp_json import render
from tracejury.collector.otlp.codec.signals import LOGS, SPANS
from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.schemas.errors import NotFoundError
from tracejury.schemas.filters import an_id
from tracejury.schemas.queries.reader import Received
from tracejury.schemas.spans import LogRecord, Span

from .answers import documented
from .labels import JSON_LINES


def add_received(app: FastAPI, reader: StoredReader) -> None:
    """The endpoint; reading blocks."""
    answers = documented(None, 404)
    answers[200] = {"content": {JSON_LINES: {}}, "description": "OTLP/JSON, a request a line"}

    @app.get("/api/traces/{trace_id}/otlp", responses=answers)
    def received(trace_id: str) -> Response:
        """The stored spans and log records of a trace as they came: what `replay` and `evaluate` read."""
        found = reader.received(an_id(trace_id))
        if found is None:
            raise NotFoundError(f"no trace {an_id(trace_id)[:64]!r} is stored")
        safe = {"X-Content-Type-Options": "nosniff"}
        return Response(json_lines(found), media_type=JSON_LINES, headers=safe)


def requests_of(received: Received) -> list[Request]:
    """One request of all finished spans, and one of all log records where there are any."""
    spans = group(SPANS, (_span_row(s) for s in received.spans if not s.pending))
    logs = group(LOGS, map(_log_row, received.logs))
    return [spans, logs] if received.logs else [spans]


def _span_row(s: Span) -> Row:
    resource = ResourceSpans(resource=resource_of(s.resource_attributes, s.resource_attribute_types))
    scope = ScopeSpans(scope=scope_of(s.scope_name, s.scope_version))
    return resource, scope, span_message(s, s.trace_state)


def _log_row(r: LogRecord) -> Row:
    resource = ResourceLogs(resource=resource_of(r.resource_attributes, {}))
    return resource, ScopeLogs(scope=scope_of(r.scope_name, r.scope_version)), log_message(r)


def json_lines(received: Received) -> bytes:
    """The requests as OTLP/JSON, one a line."""
    return b"".join(render(request) + b"\n" for request in requests_of(received))
