"""The endpoint of latency, tokens, cost and failures, and its parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi import Depends, FastAPI, Query, Response
from pydantic import Field

from tracejury.collector.queries.present_performance import present_performance
from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.schemas.figure_filters import PERFORMANCE_FILTERS
from tracejury.schemas.queries.performance import PerformanceBy, PerformanceQuery, PerformanceUnit
from tracejury.schemas.wire.performance import PerformanceJson

from .answers import documented, json_answer
from .params import MAX_LIMIT, Params, Simulated, Since, Text, asked_names, late_moment, moment, with_filters
from .params_rates import DEFAULT_SINCE, Step, said_once, step_length


@with_filters(*PERFORMANCE_FILTERS)
class _PerformanceFilters(Params):
    by: PerformanceBy | Literal[""] = ""
    unit: Annotated[PerformanceUnit, Field(description="What is counted and timed")] = PerformanceUnit.RUN
    step: Step = ""
    since: Annotated[Since, Field(description="As elsewhere, by arrival; by default a day")] = ""
    until: Annotated[Text, Field(description="Before this point in time, as in `since`; by default now")] = ""
    simulated: Simulated = False


class PerformanceParams(_PerformanceFilters):
    """Which figures: of what, when, told apart by what."""

    limit: Annotated[
        int, Field(ge=1, le=MAX_LIMIT, description="Groups at most, the most units first; `left` says how many more")
    ] = 100

    def query(self, now: int) -> PerformanceQuery:
        """As the question. Raises ConfigError on a value that means nothing."""
        told: dict[str, Any] = self.model_dump(exclude={"by", "step", "since", "until"})
        return PerformanceQuery(
            since=moment("since", self.since or DEFAULT_SINCE, now),
            until=late_moment("until", self.until, now) or now,
            step=step_length(self.step),
            by=self.by or None,
            **told,
        )


def add_performance(app: FastAPI, reader: StoredReader, clock: Callable[[], int]) -> None:
    """`/api/performance`."""

    @app.get("/api/performance", dependencies=[Depends(said_once)], responses=documented(PerformanceJson))
    def performance(params: Annotated[PerformanceParams, Query()]) -> Response:
        """Latency percentiles, tokens, cost and failures of agent runs, LLM calls or tool calls."""
        query = params.query(clock())
        answer = reader.performance.ask(query)
        asked = {} if answer.rows else asked_names(PERFORMANCE_FILTERS, params)
        return json_answer(present_performance(query, answer, reader.unknown_names(asked)))
