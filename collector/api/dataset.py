"""`/api/export`, and its parameters: rows for data sets, streamed while the store is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Literal, Self

from fastapi import FastAPI, Query, Response
from fastapi.responses import StreamingResponse
from pydantic import Field, model_validator

from tracejury.collector.queries.dataset.reading import Exporter
from tracejury.collector.queries.dataset.writing import json_lines, need_parquet, parquet
from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.schemas.errors import NotFoundError
from tracejury.schemas.filters import EXPORT_FILTERS, field_values, named
from tracejury.schemas.queries.reader import Confidence, ErrorQuery, TraceQuery
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.wire.base import WireModel
from tracejury.schemas.wire.dataset import UNJUDGED, ErrorRow, FindingRow, RunRow, TrailRow
from tracejury.schemas.wire.traces import ProblemJson

from .params import Params, Profile, Since, moment, with_filters

Rows = Literal["findings", "errors", "runs", "trail"]


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


@with_filters(*EXPORT_FILTERS)
class _ExportFilters(Params):
    rows: Rows = "findings"
    format: Literal["jsonl", "parquet"] = "jsonl"


class ExportParams(_ExportFilters):
    """The rows to export: findings or errors (filters as of their lists), agent runs, or traces in TRAIL's layout."""

    profile: Profile = ""
    since: Since = ""
    transcripts: Annotated[bool, Field(description="Whether rows hold the run's transcript")] = True
    limit: Annotated[int | None, Field(ge=1, description="How many rows at most; by default all")] = None

    @property
    def of_errors(self) -> bool:
        """Whether rows are of errors, or of the findings that make them, by first sight."""
        return self.rows in ("errors", "findings")

    @property
    def trace_id(self) -> str:
        """The trace that it is narrowed to, "" for none."""
        found: str = field_values(EXPORT_FILTERS, self)["trace_id"]
        return found

    @model_validator(mode="after")
    def _fits(self) -> Self:
        chosen = [name for name in ("span", "judge", "category", "severity") if getattr(self, name)]
        if not self.of_errors and chosen:
            raise ValueError(f"{chosen[0]} chooses findings; rows={self.rows} hold all findings of what they are of")
        given = field_values(EXPORT_FILTERS, self)
        if self.of_errors and given["session_id"]:
            raise ValueError(f"session chooses runs and traces, not {self.rows}")
        narrowed = given["service"] or given["session_id"] or self.since
        if given["trace_id"] and not self.of_errors and narrowed:
            raise ValueError("trace chooses one trace: name neither service, session nor since beside it")
        return self

    def errors(self, now: int) -> ErrorQuery:
        """Which errors or findings. Raises ConfigError on a value that means nothing."""
        given = field_values(EXPORT_FILTERS, self)
        del given["session_id"]
        given["severity"] = given["severity"] or Severity.LOW
        since = moment("since", self.since, now)
        return ErrorQuery(confidence=Confidence.of(self.profile), limit=0, **given, since=since)

    def traces(self, now: int) -> TraceQuery:
        """Of which traces. Raises ConfigError on a value that means nothing."""
        given = field_values(named(EXPORT_FILTERS, "service", "agent", "session"), self)
        since = moment("since", self.since, now)
        return TraceQuery(confidence=Confidence.of(self.profile), limit=0, **given, since=since)


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
