"""The endpoint for the OTLP/JSON of a trace."""

from __future__ import annotations

from fastapi import FastAPI, Response

from tracejury.collector.queries.received import json_lines
from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.schemas.errors import NotFoundError
from tracejury.schemas.filters import an_id

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
