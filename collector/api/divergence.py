"""The endpoints that compare traces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from anyio import CapacityLimiter, to_thread
from fastapi import FastAPI, Query, Response
from pydantic import Field

from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.filters import an_id
from tracejury.schemas.queries.divergence import DivergenceQuery
from tracejury.schemas.wire.divergence import ComparedRunsJson, ComparedTracesJson

from .answers import documented, json_answer
from .params import Params, Profile, Since, Text, late_moment, moment
from .patterns import DEFAULT_SINCE
from .prefixes import whole_trace_id


class ComparedTracesParams(Params):
    """The two traces."""

    first: Annotated[Text, Field(description="The id of a trace, or its beginning")]
    second: Annotated[Text, Field(description="That of the other one")]


class ComparedRunsParams(Params):
    """Which runs: of a task, or with and without a pattern."""

    task: Annotated[Text, Field(description="The id of a task that sessions name")] = ""
    pattern: Annotated[Text, Field(description="The id of a pattern: runs with it count as failing")] = ""
    service: Text = ""
    since: Annotated[Since, Field(description="As elsewhere, by arrival; by default a week")] = ""
    until: Annotated[Text, Field(description="Before this point in time, as in `since`; by default now")] = ""
    profile: Profile = ""

    def query(self, now: int) -> DivergenceQuery:
        """As the reader's question. Raises ConfigError on a value that means nothing."""
        if bool(self.task) == bool(self.pattern):
            raise ConfigError("name either a task or a pattern")
        since = moment("since", self.since or DEFAULT_SINCE, now)
        until = late_moment("until", self.until, now) or now
        if since >= until:
            raise ConfigError("the time ends before it begins: until must lie after since")
        return DivergenceQuery(since, until, self.task, an_id(self.pattern), self.service, self.profile)


def add_divergence(app: FastAPI, reader: StoredReader, clock: Callable[[], int]) -> None:
    """`/api/compare/traces` and `/api/compare/runs`."""
    # Two hundred traces take seconds to rebuild, and one large trace takes as many: leave threads to other reads.
    few = CapacityLimiter(2)

    def compared(params: ComparedTracesParams) -> Response:
        first, second = (whole_trace_id(reader, one) for one in (params.first, params.second))
        return json_answer(reader.divergences.traces(first, second))

    def parted(params: ComparedRunsParams) -> Response:
        found = reader.divergences.runs(params.query(clock()))
        asked = {"task": params.task, "service": params.service}
        unknown = {} if found.failing or found.passing else reader.unknown_names(asked)
        names = {name: list(known) for name, known in unknown.items()}
        return json_answer(found.model_copy(update={"unknown": names}))

    @app.get("/api/compare/traces", responses=documented(ComparedTracesJson, 404))
    async def traces(params: Annotated[ComparedTracesParams, Query()]) -> Response:
        """Two traces of one question: their steps in pairs, and the first at which they differ."""
        return await to_thread.run_sync(compared, params, limiter=few)

    @app.get("/api/compare/runs", responses=documented(ComparedRunsJson, 404))
    async def runs(params: Annotated[ComparedRunsParams, Query()]) -> Response:
        """The earliest step at which failing runs do otherwise than passing ones, beyond chance."""
        return await to_thread.run_sync(parted, params, limiter=few)
