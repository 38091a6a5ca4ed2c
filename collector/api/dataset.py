"""`/api/export`: rows for data sets, streamed while the store is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any

from fastapi import FastAPI, Query, Response
from fastapi.responses import StreamingResponse

from tracejury.collector.queries.dataset.reading import Exporter
from tracejury.collector.queries.dataset.writing import json_lines, need_parquet, parquet
from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.schemas.errors import NotFoundError
from tracejury.schemas.wire.base import WireModel
from tracejury.schemas.wire.dataset import UNJUDGED, ErrorRow, FindingRow, RunRow, TrailRow
from tracejury.schemas.wire.traces import ProblemJson

from .params_dataset import ExportParams

MEDIA = {"jsonl": "application/x-ndjson", "parquet": "application/vnd.apache.parquet"}
_SHAPES: Mapping[str, type] = {"errors": ErrorRow, "findings": FindingRow, "runs": RunRow, "trail": TrailRow}
_HEADERS = {UNJUDGED: {"description": "Traces asked for that were not judged yet", "schema": {"type": "integer"}}}
_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {media: {} for media in MEDIA.values()},
        "description": "Rows, as they are read",
        "headers": _HEADERS,
    },
    404: {"model": ProblemJson},
    422: {"model": ProblemJson},
}


def add_export(app: FastAPI, reader: StoredReader, clock: Callable[[], int]) -> None:
    """Rows of the store behind `reader`; `clock` gives unix nanos."""

    @app.get("/api/export", responses=_ANSWERS, response_class=StreamingResponse)
    def export(params: Annotated[ExportParams, Query()]) -> Response:
        """Errors, findings, agent runs or traces with their transcripts, as JSON lines or Parquet.

        An answer that breaks off (no last chunk) is not complete. A header counts the traces that are not judged yet:
        what will be found in them is missing.
        """
        trace_id = params.trace_id
        if trace_id and not reader.knows(trace_id, ""):
            raise NotFoundError(f"no trace {trace_id[:64]!r} is stored")
        if params.format == "parquet":
            need_parquet()
        now = clock()
        rows = rows_of(Exporter(reader, params.transcripts), params, now)
        pieces = json_lines(rows) if params.format == "jsonl" else parquet(rows, _SHAPES[params.rows])
        headers = {
            "Content-Disposition": f'attachment; filename="{params.rows}.{params.format}"',
            "X-Content-Type-Options": "nosniff",
            UNJUDGED: str(count_unjudged(reader, params, now)),
        }
        return StreamingResponse(pieces, headers=headers, media_type=MEDIA[params.format])


def rows_of(exporter: Exporter, params: ExportParams, now: int) -> Iterator[WireModel]:
    """The rows that the parameters ask for. Raises ConfigError, before the first row, on a value that means nothing."""
    if params.of_errors:
        found = exporter.errors if params.rows == "errors" else exporter.findings
        return found(params.errors(now), params.limit or 0)
    query = params.traces(now)
    make = exporter.runs if params.rows == "runs" else exporter.trail
    return make(query, params.limit or 0, params.trace_id)


def count_unjudged(reader: StoredReader, params: ExportParams, now: int) -> int:
    """How many of the traces that the parameters ask for are not judged yet, as far as is known of those."""
    if params.of_errors:  # by first sight, which is still to come
        return reader.count_unjudged(service=params.errors(now).service, trace_id=params.trace_id)
    query = params.traces(now)
    return reader.count_unjudged(query.since, query.service, params.trace_id)
