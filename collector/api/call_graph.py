"""The endpoints of graphs of agents and tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from anyio import CapacityLimiter, to_thread
from fastapi import FastAPI, Query, Response
from pydantic import Field

from tracejury.collector.queries.present_call_graph import present_call_graph
from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.schemas.call_graph import CallGraph
from tracejury.schemas.errors import ConfigError, NotFoundError
from tracejury.schemas.queries.call_graph import CallGraphQuery
from tracejury.schemas.wire.call_graph import CallGraphJson

from .answers import documented, json_answer
from .params import MAX_LIMIT, Params, Simulated, Since, Text, late_moment, moment
from .patterns import DEFAULT_SINCE
from .prefixes import whole_trace_id


class CallGraphParams(Params):
    """Of which traces."""

    service: Text = ""
    since: Annotated[Since, Field(description="As elsewhere, by arrival; by default a week")] = ""
    until: Annotated[Text, Field(description="Before this point in time, as in `since`; by default now")] = ""
    simulated: Simulated = False
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT, description="Edges at most; `left` says how many more")] = 200

    def query(self, now: int) -> CallGraphQuery:
        """As the reader's question. Raises ConfigError on a value that means nothing."""
        since = moment("since", self.since or DEFAULT_SINCE, now)
        until = late_moment("until", self.until, now) or now
        if since >= until:
            raise ConfigError("the time ends before it begins: until must lie after since")
        return CallGraphQuery(since, until, self.service, self.simulated, self.limit)


def add_call_graphs(app: FastAPI, reader: StoredReader, clock: Callable[[], int]) -> None:
    """`/api/graph` and `/api/traces/{id}/graph`."""
    few = CapacityLimiter(2)  # a trace may have to be rebuilt

    def of_trace(trace_id: str) -> Response:
        found = reader.trace_queries.trace_index(whole_trace_id(reader, trace_id))
        if found is None:
            raise NotFoundError(f"no trace {trace_id[:64]!r} is stored")
        return json_answer(present_call_graph(CallGraph(found.outline.edges), {}))

    @app.get("/api/graph", responses=documented(CallGraphJson))
    def graph(params: Annotated[CallGraphParams, Query()]) -> Response:
        """Who calls whom in judged traces, how often, and how often that fails; what is available and never called."""
        found = reader.call_graphs.ask(params.query(clock()))
        unknown = {} if found.edges else reader.unknown_names({"service": params.service})
        return json_answer(present_call_graph(found, unknown))

    @app.get("/api/traces/{trace_id}/graph", responses=documented(CallGraphJson, 404))
    async def one_graph(trace_id: str) -> Response:
        """The same of one trace, by its id or its beginning; also before it is judged."""
        return await to_thread.run_sync(of_trace, trace_id, limiter=few)
