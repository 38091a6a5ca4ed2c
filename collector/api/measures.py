"""The endpoint of measures, and measures as its models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

from fastapi import Depends, FastAPI, Query, Response

from tracejury.collector.queries.measures import ComparedMeasures, MeasureAnswer, MeasureGroup
from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.schemas.queries.measures import MeasureQuery
from tracejury.schemas.wire.base import fill
from tracejury.schemas.wire.measures import (
    BehaviourFiguresJson,
    ComparedMeasuresJson,
    MeasureFigureJson,
    MeasureGroupJson,
    MeasuresJson,
    PackMeasuresJson,
    SessionValuesJson,
)

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


def present_measures(
    query: MeasureQuery, answers: Sequence[tuple[MeasureAnswer, ComparedMeasures | None]]
) -> MeasuresJson:
    """The answers to a query, each with what it was compared to."""
    items = [_pack(answer, compared) for answer, compared in answers]
    return fill(MeasuresJson, query, step_seconds=query.step / 1e9 if query.step else None, items=items)


def _pack(answer: MeasureAnswer, compared: ComparedMeasures | None) -> PackMeasuresJson:
    letters = [measure.letter for measure in answer.pack.measures]
    worst = [fill(SessionValuesJson, one, values=dict(zip(letters, one.values, strict=True))) for one in answer.worst]
    return fill(
        PackMeasuresJson,
        answer,
        pack=answer.pack.name,
        title=answer.pack.title,
        measures=answer.pack.measures,
        total=_group(answer.total),
        items=[_group(row) for row in answer.rows],
        worst=worst,
        compared=compared and _compared(compared),
        tasks=[fill(BehaviourFiguresJson, one, behaviour=name) for name, one in answer.tasks.items()],
    )


def _compared(compared: ComparedMeasures) -> ComparedMeasuresJson:
    return fill(ComparedMeasuresJson, compared.query, total=_group(compared.total), differences=compared.differences)


def _group(group: MeasureGroup) -> MeasureGroupJson:
    figures = [fill(MeasureFigureJson, figure, letter=figure.measure.letter) for figure in group.figures]
    return fill(MeasureGroupJson, group, measures=figures)
