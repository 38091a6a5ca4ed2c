"""The endpoints of error rates and of measures, and both as their models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

from fastapi import Depends, FastAPI, Query, Response

from tracejury.collector.queries.measures import ComparedMeasures, MeasureAnswer, MeasureGroup
from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.judges.measures.trials import TaskMean
from tracejury.schemas.figure_filters import MEASURE_FILTERS, RATE_FILTERS
from tracejury.schemas.queries.measures import MeasureQuery
from tracejury.schemas.rates import RateAnswer, RateComparison, RateQuery
from tracejury.schemas.wire.base import fill
from tracejury.schemas.wire.measures import (
    ComparedMeasuresJson,
    MeasureFigureJson,
    MeasureGroupJson,
    MeasuresJson,
    PackMeasuresJson,
    SessionValuesJson,
    TaskMeanJson,
    TaskTrialsJson,
)
from tracejury.schemas.wire.rates import JudgedTracesJson, RateRowJson, RatesComparisonJson, RatesJson

from .answers import documented, json_answer
from .params import asked_names
from .params_measures import MeasureParams
from .params_rates import CompareParams, RatesParams, said_once

Unknown = Callable[[RateQuery, RateAnswer], Mapping[str, Sequence[str]]]
"""The unknown names that a query filters by, with known ones, where that is why its answer has no errors."""


def add_rates(app: FastAPI, reader: StoredReader, clock: Callable[[], int]) -> None:
    """`/api/rates` and `/api/rates/compare`."""
    once = [Depends(said_once)]

    def unknown(query: RateQuery, answer: RateAnswer) -> Mapping[str, Sequence[str]]:
        if answer.total.hits:
            return {}
        named = {one.name: getattr(query, one.name) for one in RATE_FILTERS if not (one.choices or one.repeated)}
        if not query.taxonomy and "/" not in query.category:
            named["category"] = ""  # TRAIL's, in any case of letters: any other was refused
        return reader.unknown_names(named)

    @app.get("/api/rates", dependencies=once, responses=documented(RatesJson))
    def rates(params: Annotated[RatesParams, Query()]) -> Response:
        """How many runs, turns, traces or sessions have errors, and errors each, with 95 % intervals."""
        query = params.query(clock())
        return json_answer(present_rates(query, reader.rates.ask(query), unknown))

    @app.get("/api/rates/compare", dependencies=once, responses=documented(RatesComparisonJson))
    def compare(params: Annotated[CompareParams, Query()]) -> Response:
        """Whether these rates differ from those of another time, version or service."""
        to, query = params.queries(clock())
        return json_answer(present_comparison(query, to, reader.rates.compare(to, query), unknown))


def present_rates(query: RateQuery, answer: RateAnswer, unknown: Unknown) -> RatesJson:
    """The answer to a query."""
    return fill(
        RatesJson,
        answer,
        unit=query.unit,
        by=query.by,
        simulated=query.simulated,
        since=query.since,
        until=query.until,
        step_seconds=query.step / 1e9 if query.step else None,
        items=[fill(RateRowJson, row.rate, key=row.key, at=row.at) for row in answer.rows],
        unjudged=answer.unjudged.counts,
        unknown=unknown(query, answer),
        traces=JudgedTracesJson(
            judged=answer.traces.get(None, 0), not_judged={why: count for why, count in answer.traces.items() if why}
        ),
    )


def present_comparison(query: RateQuery, to: RateQuery, found: RateComparison, unknown: Unknown) -> RatesComparisonJson:
    """How `query`, the second of what was compared, differs from `to`."""
    return fill(
        RatesComparisonJson, found, rates=present_rates(query, found.b, unknown), to=present_rates(to, found.a, unknown)
    )


def add_measures(app: FastAPI, reader: StoredReader, clock: Callable[[], int]) -> None:
    """`/api/measures`."""

    @app.get("/api/measures", dependencies=[Depends(said_once)], responses=documented(MeasuresJson))
    def measured(params: Annotated[MeasureParams, Query()]) -> Response:
        """Measures of sessions by pack, with 95 % intervals: in all, by group and over time, and the worst sessions."""
        now = clock()
        query = params.query(now)
        to = params.other(query, now)
        found = [(answer, reader.measures.compare(answer, to) if to else None) for answer in reader.measures.ask(query)]
        nothing = not any(answer.total.sessions or answer.total.invalid or answer.worst for answer, _ in found)
        unknown = reader.unknown_names(asked_names(MEASURE_FILTERS, params)) if nothing else {}
        compared: Mapping[str, Sequence[str]] = {}
        if to and not any(one.total.sessions or one.total.invalid for _, one in found if one):
            compared = reader.unknown_names({"service": to.service, "version": to.version})
        return json_answer(present_measures(query, found, unknown, compared))


def present_measures(
    query: MeasureQuery,
    answers: Sequence[tuple[MeasureAnswer, ComparedMeasures | None]],
    unknown: Mapping[str, Sequence[str]],
    unknown_compared: Mapping[str, Sequence[str]],
) -> MeasuresJson:
    """The answers to a query, each with what it was compared to."""
    items = [_pack(answer, compared) for answer, compared in answers]
    return fill(
        MeasuresJson,
        query,
        by=",".join(query.by),
        step_seconds=query.step / 1e9 if query.step else None,
        items=items,
        unknown=unknown,
        unknown_compared=unknown_compared,
    )


def _pack(answer: MeasureAnswer, compared: ComparedMeasures | None) -> PackMeasuresJson:
    letters = [measure.letter for measure in answer.pack.measures]
    worst = [fill(SessionValuesJson, one, values=dict(zip(letters, one.values, strict=True))) for one in answer.worst]
    return fill(
        PackMeasuresJson,
        answer,
        pack=answer.pack.name,
        title=answer.pack.title,
        unit=answer.pack.unit,
        best=answer.pack.best,
        measures=answer.pack.measures,
        total=_group(answer.total),
        items=[_group(row) for row in answer.rows],
        worst=worst,
        compared=compared and _compared(compared),
    )


def _compared(compared: ComparedMeasures) -> ComparedMeasuresJson:
    return fill(
        ComparedMeasuresJson,
        compared.query,
        total=_group(compared.total),
        differences=compared.differences,
        trials=_figures(compared.trials),
    )


def _group(group: MeasureGroup) -> MeasureGroupJson:
    figures = [fill(MeasureFigureJson, figure, letter=figure.measure.letter) for figure in group.figures]
    trials = group.trials and fill(TaskTrialsJson, group.trials, figures=_figures(group.trials.figures))
    return fill(MeasureGroupJson, group, measures=figures, trials=trials)


def _figures(means: Sequence[TaskMean]) -> list[TaskMeanJson]:
    return [fill(TaskMeanJson, one, kind=one.figure[0], letter=one.figure[1]) for one in means]
