"""The endpoints about LLM judges: their ledger and spend, and what they are told of a service."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated

from fastapi import FastAPI, Query, Response

from tracejury.collector.queries.present_llm import day_start, present_entry, present_spend
from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.collector.store.architectures import StoredArchitectures
from tracejury.schemas.errors import NotFoundError
from tracejury.schemas.filters import LEDGER_FILTERS
from tracejury.schemas.llm_rows import Source
from tracejury.schemas.queries.ledger import JudgesStatus, LedgerQuery, why_unscored
from tracejury.schemas.queries.reader import Position
from tracejury.schemas.wire.traces import ArchitectureJson, ArchitecturePage, ClearedJson, JudgesJson, LedgerPage

from .answers import documented, json_answer
from .params import ArchitectureBody, ArchitectureParams, LedgerParams, Params, asked_names, write_cursor
from .paths import REST
from .prefixes import whole_trace_id

EVERY_WORD = 10_000
"""Words of one trace that are looked through for why it has no score."""


def add_ledger(
    app: FastAPI, reader: StoredReader, judges: Callable[[], JudgesStatus], clock: Callable[[], int]
) -> None:
    """`/api/ledger`. `judges`: what this process does with LLM judges now."""

    @app.get("/api/ledger", responses=documented(LedgerPage, 404))
    def ledger(params: Annotated[LedgerParams, Query()]) -> Response:
        """The last word of each judge on each subject, latest first, and what judging costs."""
        now, status = clock(), judges()
        query = params.query(now)
        if query.trace_id and not reader.knows(query.trace_id, ""):
            query = replace(query, trace_id=whole_trace_id(reader, query.trace_id))
        found = reader.ledger.entries(replace(query, limit=query.limit + 1))
        shown = found[: query.limit]
        last = shown[-1] if len(found) > len(shown) else None
        unknown = {} if found or query.before else reader.unknown_names(asked_names(LEDGER_FILTERS, params))
        return json_answer(
            {
                "items": [present_entry(entry) for entry in shown],
                "next": write_cursor("cursor", Position(last.word.judged_at, last.id)) if last else None,
                "summary": {outcome.value: count for outcome, count in reader.ledger.summary(query).items()},
                "spend": present_spend(reader.ledger.spend(day_start(now)), status, now),
                "judges": JudgesJson.model_validate(status),
                "why": _why(reader, query.trace_id, status) if query.trace_id else None,
                "unknown": unknown,
            }
        )


def add_architectures(app: FastAPI, architectures: StoredArchitectures) -> None:
    """`/api/architectures`."""

    @app.get("/api/architectures", responses=documented(ArchitecturePage))
    def list_architectures(params: Annotated[Params, Query()]) -> Response:  # noqa: ARG001  refuses unknown parameters
        """The description that holds of each service."""
        return json_answer(
            {"items": [ArchitectureJson.model_validate(a) for a in architectures.all_current()], "next": None}
        )

    # A service may be called anything: its name is the rest of the path.
    @app.get(f"/api/architectures/{{service:{REST}}}", responses=documented(ArchitectureJson, 404))
    def one_architecture(service: str, params: Annotated[ArchitectureParams, Query()]) -> Response:
        """The description that holds; with `history` a page of all versions, latest first."""
        if params.history:
            versions = [ArchitectureJson.model_validate(a) for a in architectures.versions(service)]
            return json_answer({"items": versions, "next": None})
        found = architectures.current(service)
        if found is None:
            raise NotFoundError(f"no architecture of service {service[:64]!r} is stored")
        return json_answer(ArchitectureJson.model_validate(found))

    @app.put(f"/api/architectures/{{service:{REST}}}", responses=documented(ArchitectureJson))
    def edit(service: str, body: ArchitectureBody) -> Response:
        """Put a description of one's own in the place of the derived one."""
        return json_answer(ArchitectureJson.model_validate(architectures.keep(service, body.text, Source.EDITED)))

    @app.delete(f"/api/architectures/{{service:{REST}}}", responses=documented(ClearedJson))
    def clear(service: str) -> Response:
        """Let the derived description hold again."""
        cleared, current = architectures.clear_edit(service), architectures.current(service)
        return json_answer(
            {"cleared": cleared, "current": ArchitectureJson.model_validate(current) if current else None}
        )


def _why(reader: StoredReader, trace_id: str, status: JudgesStatus) -> str | None:
    words = [e.word for e in reader.ledger.entries(LedgerQuery(EVERY_WORD, trace_id, everything=True))]
    return why_unscored(words, reader.ledger.judged_trace(trace_id), status, trace_id)
