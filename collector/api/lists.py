"""Endpoints of lists of traces and sessions, and of one session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated

from fastapi import FastAPI, Query, Response

from tracejury.collector.queries.present import present_row
from tracejury.collector.queries.present_lists import present_session, present_session_row, searched
from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.schemas.errors import NotFoundError
from tracejury.schemas.filters import TRACE_FILTERS
from tracejury.schemas.queries.listing import SessionRow
from tracejury.schemas.queries.reader import Confidence, Position, TraceQuery, TraceRow
from tracejury.schemas.wire.lists import SessionJson, SessionPage
from tracejury.schemas.wire.traces import TracePage

from .answers import documented, json_answer
from .params import asked_names
from .params_lists import ListParams, SessionParams, write_place
from .paths import SOME
from .prefixes import whole_session_id


def add_lists(app: FastAPI, reader: StoredReader, clock: Callable[[], int]) -> None:
    """`/api/traces`, `/api/sessions` and `/api/sessions/{id}`."""

    @app.get("/api/traces", responses=documented(TracePage))
    def list_traces(params: Annotated[ListParams, Query()]) -> Response:
        """Traces by filters that compose, in the asked order; by default latest arrival first."""
        query = params.query(clock())
        rows, more = traces_page(reader, query)
        unknown = {} if rows or query.before else reader.unknown_names(asked_names(TRACE_FILTERS, params))
        return json_answer(
            {
                "items": [present_row(r) for r in rows],
                "next": more,
                "searched": searched(query),
                "unknown": unknown,
            }
        )

    @app.get("/api/sessions", responses=documented(SessionPage))
    def list_sessions(params: Annotated[ListParams, Query()]) -> Response:
        """Sessions that hold a trace of the filters; state, duration and order are the session's."""
        query = params.query(clock())
        rows, more = sessions_page(reader, query)
        items = [present_session_row(r) for r in rows]
        unknown = {} if rows or query.before else reader.unknown_names(asked_names(TRACE_FILTERS, params))
        return json_answer({"items": items, "next": more, "searched": searched(query), "unknown": unknown})

    @app.get(f"/api/sessions/{{session_id:{SOME}}}", responses=documented(SessionJson, 404))
    def one_session(session_id: str, params: Annotated[SessionParams, Query()]) -> Response:
        """Messages of users and answers of agents, findings and verdicts in place; also by a beginning of its id."""
        confidence = Confidence.of(params.profile)
        view = reader.session(session_id, confidence, params.service)
        if view is None:
            view = reader.session(whole_session_id(reader, session_id), confidence, params.service)
        if view is None:
            raise NotFoundError(f"no session {session_id[:64]!r} is stored")
        return json_answer(present_session(view))


def traces_page(reader: StoredReader, query: TraceQuery) -> tuple[Sequence[TraceRow], str | None]:
    """Up to `limit` traces, and the cursor of the next page, None on the last."""
    rows = reader.traces(replace(query, limit=query.limit + 1))
    shown = rows[: query.limit]
    return shown, _next(query, len(rows), [(r.place, r.order_id) for r in shown[-1:]])


def sessions_page(reader: StoredReader, query: TraceQuery) -> tuple[Sequence[SessionRow], str | None]:
    """Up to `limit` sessions, and the cursor of the next page, None on the last."""
    rows = reader.sessions(replace(query, limit=query.limit + 1))
    shown = rows[: query.limit]
    return shown, _next(query, len(rows), [(r.place, r.order_id) for r in shown[-1:]])


def _next(query: TraceQuery, found: int, last: Sequence[tuple[int, str]]) -> str | None:
    if found <= query.limit or not last:
        return None
    return write_place(query.sort, Position(*last[0]), ascending=query.ascending)
