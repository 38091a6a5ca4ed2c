"""`/api/judge`: stored traces and sessions are judged again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from anyio import CapacityLimiter, to_thread
from fastapi import FastAPI, Response

from tracejury.collector.queries.present import present_judged
from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.schemas.errors import NotFoundError
from tracejury.schemas.filters import an_id
from tracejury.schemas.queries.reader import Confidence, TraceQuery
from tracejury.schemas.wire.traces import JudgedPage

from .answers import documented, json_answer
from .lists import traces_page
from .params import JudgeBody, moment, read_cursor
from .prefixes import whole_session_id, whole_trace_id
from .services import Services

JUDGING_THREADS: Final = 4
"""Judging blocks for long: with threads of its own it cannot take those that reads need."""


def add_judging(app: FastAPI, services: Services) -> None:
    """`/api/judge`."""
    reader = services.reader
    few = CapacityLimiter(JUDGING_THREADS)

    @app.post("/api/judge", responses=documented(JudgedPage, 404))
    async def judge_again(body: JudgeBody) -> Response:
        """Judge stored traces again; `next` is the cursor of those that `limit` left. A session is closed then."""
        more = None
        sessions: Sequence[tuple[str, str]] = ()
        if body.trace_id:
            wanted = [an_id(body.trace_id)]
        elif body.session:
            wanted, sessions = await to_thread.run_sync(_of_session, reader, body.session, body.service)
        else:
            query = TraceQuery(
                Confidence.of(""),
                body.limit,
                since=moment("since", body.since, services.clock()),
                before=read_cursor("cursor", body.cursor),
            )
            rows, more = await to_thread.run_sync(traces_page, reader, query)
            wanted = [row.trace_id for row in rows]
        named = bool(body.trace_id or body.session)
        judged = await to_thread.run_sync(services.judge, wanted, named, limiter=few)
        if body.trace_id and not judged:
            wanted = [await to_thread.run_sync(whole_trace_id, reader, body.trace_id)]
            judged = await to_thread.run_sync(services.judge, wanted, True, limiter=few)  # noqa: FBT003  positional
        if body.trace_id and not judged:
            raise NotFoundError(f"no trace {wanted[0][:64]!r} is stored")
        closed = sum(services.close_session(service, session_id) for service, session_id in sessions)
        ids = [j.subject.trace_id for j in judged]
        shown = await to_thread.run_sync(reader.shown_errors, ids, Confidence.of(""))
        left: dict[str, int] = {}
        status = services.judges()
        if judged and (status.on or status.elsewhere):
            left = await to_thread.run_sync(reader.ledger.pending_subjects, ids)
            left[ids[-1]] = left.get(ids[-1], 0) + closed
        items = [present_judged(j, shown.get(i, 0), left.get(i, 0)) for i, j in zip(ids, judged, strict=True)]
        return json_answer({"items": items, "next": more})


def _of_session(reader: StoredReader, given: str, service: str) -> tuple[list[str], list[tuple[str, str]]]:
    """The ids of a session's traces, and service and id of each session of that id.

    Raises:
        NotFoundError, ConfigError: as `whole_session_id`.
    """
    found = reader.session(given, Confidence.of(""), service)
    if found is None:
        found = reader.session(whole_session_id(reader, given), Confidence.of(""), service)
    if found is None:
        raise NotFoundError(f"no session {given[:64]!r} of service {service[:64]!r} is stored")
    sessions = [(name, found.session.session_id) for name in ([service] if service else found.services)]
    return list(dict.fromkeys(exchange.trace_id for exchange in found.exchanges)), sessions
