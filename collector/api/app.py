"""The FastAPI application. Endpoints that read are plain functions: the framework runs them on its thread pool."""

from __future__ import annotations

from typing import Annotated

from anyio import CapacityLimiter, to_thread
from fastapi import FastAPI, Query, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from tracejury import __version__
from tracejury.collector.queries.present import present_run, present_trace
from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.collector.queries.trace.parts import PARTED, part_around, part_of, present_part
from tracejury.processors.trace_outline import TraceOutline
from tracejury.schemas.errors import NotFoundError, TracejuryError
from tracejury.schemas.filters import an_id
from tracejury.schemas.not_judged import NotJudged
from tracejury.schemas.queries.ledger import JudgedState
from tracejury.schemas.queries.reader import Confidence
from tracejury.schemas.trajectory import TraceState
from tracejury.schemas.wire.traces import PartedTraceJson, SpanTurnsJson, TraceJson

from .addresses import Heads, Slashes
from .alerts import add_alerts
from .answers import documented, json_answer, on_error
from .backups import add_backups
from .call_graph import add_call_graphs
from .clusters import add_clusters
from .dataset import add_export
from .deletion import add_deletion
from .divergence import add_divergence
from .errors import add_errors
from .explain import add_doctor, add_explain
from .guard import Guard
from .judging import add_judging
from .labels import add_labels
from .lists import add_lists
from .llm import add_architectures, add_ledger
from .mendable import add_mendable
from .params import (
    TraceParams,
)
from .patterns import add_patterns
from .performance import add_performance
from .prefixes import whole_trace_id
from .rates import add_measures, add_rates
from .received import add_received
from .saved_views import add_saved_views
from .scores import add_scores
from .services import Services
from .watching import add_watching

REBUILDING_THREADS = 4


def create_app(services: Services) -> FastAPI:
    """The API alone, without pages."""
    reader, judges, clock = services.reader, services.judges, services.clock
    app = FastAPI(title="tracejury", version=__version__, docs_url=None, redoc_url=None, redirect_slashes=False)
    app.router.default = Slashes(app.router)
    # The parameters of each page, which saved views are held to; whoever adds a page puts them here.
    app.state.pages = {}
    app.add_middleware(Heads)
    app.add_middleware(Guard, tokens=services.tokens, receivers=services.endpoints, any_host=services.any_host)
    for kind in (TracejuryError, Exception, HTTPException, RequestValidationError):
        app.add_exception_handler(kind, on_error)
    add_lists(app, reader, clock)
    _add_reading(app, reader)
    add_errors(app, reader, clock)
    add_mendable(app, reader, services.settings)
    add_judging(app, services)
    add_doctor(app, reader, clock)
    add_export(app, reader, clock)
    add_explain(app, reader, services.settings)
    add_ledger(app, reader, judges, clock)
    add_architectures(app, reader.architectures)
    add_labels(app, reader, clock)
    add_rates(app, reader, clock)
    add_performance(app, reader, clock)
    add_measures(app, reader, clock)
    add_clusters(app, reader, clock)
    add_patterns(app, reader, clock)
    add_divergence(app, reader, clock)
    add_alerts(app, reader, clock)
    add_call_graphs(app, reader, clock)
    add_saved_views(app, reader, clock)
    add_received(app, reader)
    add_scores(app, services)
    if services.delete is not None:
        add_deletion(app, services.delete, reader.receipts, clock)
    add_backups(app, services.backup)
    add_watching(app, services.problems, services.losses, services.metrics, services.keyring, services.lags)
    return app


def _add_reading(app: FastAPI, reader: StoredReader) -> None:
    # A large trace takes seconds to rebuild: those who wait for one leave threads to other reads.
    few = CapacityLimiter(REBUILDING_THREADS)

    def presented(trace_id: str, confidence: Confidence, params: TraceParams) -> Response:
        trace_id, stored = _stored_trace(reader, trace_id)
        if stored >= PARTED or params.limit or params.cursor or params.span:
            return in_parts(trace_id, confidence, params, stored)
        view = reader.trace(trace_id, confidence)
        if view is None:
            raise NotFoundError(f"no trace {trace_id[:64]!r} is stored")
        judged = reader.ledger.judged_trace(view.trace.trace_id)
        not_judged = judged.not_judged if judged else NotJudged.WAITING
        return json_answer(present_trace(view.trace, view.findings, view.verdicts, view.errors, not_judged))

    def in_parts(trace_id: str, confidence: Confidence, params: TraceParams, stored: int) -> Response:
        trace_queries = reader.trace_queries
        trace_index = trace_queries.trace_index(trace_id)
        if trace_index is None:
            raise NotFoundError(f"no trace {trace_id[:64]!r} is stored")
        if params.span:
            part = part_around(trace_index, an_id(params.span))
        else:
            part = part_of(trace_index.outline, params.cursor, params.limit)
        found = trace_queries.assessment(part.outline, confidence)
        runs = trace_queries.runs(part.outline, part.runs)
        said = reader.labels.annotations_of(sorted({error.lead.trace_id for error in found.errors}))
        judged = reader.ledger.judged_trace(part.outline.trace_id)
        return json_answer(
            present_part(
                part,
                runs,
                found,
                stored,
                reader.calibrations,
                said,
                judged=_is_judged(judged, part.outline),
                not_judged=judged.not_judged if judged else NotJudged.WAITING,
            )
        )

    @app.get("/api/traces/{trace_id}", responses=documented(TraceJson | PartedTraceJson, 404))
    async def one_trace(trace_id: str, params: Annotated[TraceParams, Query()]) -> Response:
        """The tree of agent runs, turns and tool calls, its errors and their findings; by its id or its beginning.

        A trace of 5,000 spans or more, and any with `limit`, `cursor` or `span`, is answered in parts of agent runs.
        """
        confidence = Confidence.of(params.profile)
        return await to_thread.run_sync(presented, an_id(trace_id), confidence, params, limiter=few)

    _add_turns(app, reader, few)


def _add_turns(app: FastAPI, reader: StoredReader, few: CapacityLimiter) -> None:
    def turns_around(trace_id: str, span_id: str) -> Response:
        trace_queries = reader.trace_queries
        trace_index = trace_queries.trace_index(trace_id) or trace_queries.trace_index(whole_trace_id(reader, trace_id))
        if trace_index is None:
            raise NotFoundError(f"no trace {trace_id[:64]!r} is stored")
        part = part_around(trace_index, span_id)
        runs = trace_queries.runs(part.outline, part.runs)
        return json_answer(SpanTurnsJson(agent_runs=[present_run(run) for run in runs]))

    @app.get("/api/traces/{trace_id}/spans/{span_id}/turns", responses=documented(SpanTurnsJson, 404))
    async def turns_of_span(trace_id: str, span_id: str) -> Response:
        """The agent run of a span with the span's turn and those next to it, and nothing of what judges found."""
        return await to_thread.run_sync(turns_around, an_id(trace_id), an_id(span_id), limiter=few)


def _is_judged(judged: JudgedState | None, trace: TraceOutline) -> bool:
    """Judged in the state that it has, with its errors derived."""
    return judged is not None and not (judged.state is TraceState.OPEN and trace.state is not TraceState.OPEN)


def _stored_trace(reader: StoredReader, given: str) -> tuple[str, int]:
    """The id of the trace that is named by it or its beginning, and its number of spans.

    Raises:
        NotFoundError, ConfigError: as `whole_trace_id`.
    """
    if stored := reader.trace_queries.count_spans(given):
        return given, stored
    whole = whole_trace_id(reader, given)
    return whole, reader.trace_queries.count_spans(whole)
