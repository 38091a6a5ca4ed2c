"""The endpoint of measures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, FastAPI, Query, Response

from tracejury.collector.queries.present_measures import present_measures
from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.schemas.wire.measures import MeasuresJson

from .answers import documented, json_answer
from .params_measures import MeasureParams
from .params_rates import said_once


def add_measures(app: FastAPI, reader: StoredReader, clock: Callable[[], int]) -> None:
    """`/api/measures`."""

    @app.get("/api/measures", dependencies=[Depends(said_once)], responses=documented(MeasuresJson))
    def measured(params: Annotated[MeasureParams, Query()]) -> Response:
        """Measures of sessions by pack, with 95 % intervals: in all, by group and over time, and the worst sessions."""
        now = clock()
        query = params.query(now)
        to = params.other(query, now)
        found = [(answer, reader.measures.compare(answer, to) if to else None) for answer in reader.measures.ask(query)]
        return json_answer(present_measures(query, found))
