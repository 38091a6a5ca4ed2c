"""Endpoints of errors, and of the findings that make them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, TypeVar

from fastapi import FastAPI, Query, Response

from tracejury.collector.queries.present_errors import (
    present_error,
    present_error_at,
    present_error_detail,
    present_listed_finding,
)
from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.schemas.errors import NotFoundError
from tracejury.schemas.filters import ERROR_FILTERS, an_id
from tracejury.schemas.queries.reader import Confidence, ErrorQuery, LocatedError, LocatedFinding
from tracejury.schemas.wire.base import WireModel
from tracejury.schemas.wire.errors import ErrorDetailJson, ErrorPage, FindingPage, SpanErrorPage

from .answers import documented, json_answer
from .params import ErrorParams, ErrorsParams, SpanErrorsParams, asked_names, write_cursor
from .prefixes import whole_error_id, whole_trace_id

Located = TypeVar("Located", LocatedError, LocatedFinding)


def add_errors(app: FastAPI, reader: StoredReader, clock: Callable[[], int]) -> None:
    """`/api/errors`, `/api/errors/{id}`, `/api/spans/{id}/errors` and `/api/findings`."""

    @app.get("/api/spans/{span_id}/errors", responses=documented(SpanErrorPage, 404))
    def errors_of_span(span_id: str, params: Annotated[SpanErrorsParams, Query()]) -> Response:
        """Errors that name the span, with its role; over all traces with a span of that id unless `trace` narrows."""
        query = params.query(clock(), span_id)
        if not query.span_id:
            raise NotFoundError(f"no span {span_id[:64]!r} is stored")
        return _page(reader, query, params, reader.errors, lambda e: present_error_at(e, query.span_id))

    @app.get("/api/errors", responses=documented(ErrorPage, 404))
    def errors(params: Annotated[ErrorsParams, Query()]) -> Response:
        """Errors, latest first; with `after` earliest first, and `next` is then never null."""
        return _page(reader, params.query(clock(), params.span), params, reader.errors, present_error)

    @app.get("/api/errors/{error_id}", responses=documented(ErrorDetailJson, 404))
    def one_error(error_id: str, params: Annotated[ErrorParams, Query()]) -> Response:
        """An error with its findings, by its id, an earlier id, the id of one of its findings, or a beginning."""
        confidence = Confidence.of(params.profile)
        given = an_id(error_id)
        view = reader.error(given, confidence) or reader.error(whole_error_id(reader, given), confidence)
        if view is None:
            raise NotFoundError(f"no error {given[:64]!r} is stored")
        return json_answer(present_error_detail(view))

    @app.get("/api/findings", responses=documented(FindingPage, 404))
    def findings(params: Annotated[ErrorsParams, Query()]) -> Response:
        """Findings, of which errors are made, latest first; with `after` earliest first, as errors."""
        return _page(reader, params.query(clock(), params.span), params, reader.findings, present_listed_finding)


def _page(
    reader: StoredReader,
    query: ErrorQuery,
    params: SpanErrorsParams,
    find: Callable[[ErrorQuery], Sequence[Located]],
    present: Callable[[Located], WireModel],
) -> Response:
    found = find(replace(query, limit=query.limit + 1))
    shown = found[: query.limit]
    if not found and (query.span_id or query.trace_id) and not reader.knows(query.trace_id, query.span_id):
        if query.trace_id and (whole := whole_trace_id(reader, query.trace_id)) != query.trace_id:
            return _page(reader, replace(query, trace_id=whole), params, find, present)
        raise NotFoundError(_unknown(query))
    last = shown[-1].position if shown else None
    if query.after:
        more: str | None = write_cursor("after", last or query.after)
    else:
        more = write_cursor("cursor", last) if last and len(found) > len(shown) else None
    # One who asks for what is to come may name what is to come.
    nothing = not (found or query.before or query.after)
    unknown = reader.unknown_names(asked_names(ERROR_FILTERS, params)) if nothing else {}
    return json_answer({"items": [present(located) for located in shown], "next": more, "unknown": unknown})


def _unknown(query: ErrorQuery) -> str:
    parts = [f"span {query.span_id[:64]!r}"] if query.span_id else []
    parts += [f"trace {query.trace_id[:64]!r}"] if query.trace_id else []
    return f"no {' of '.join(parts)} is stored"
