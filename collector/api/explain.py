"""`/api/explain`: what words and figures mean. `/api/doctor`: what traces show, what they lack, and what mends it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import FastAPI, Query, Response
from pydantic import Field

from tracejury.collector.queries.detector_on_service import explain_on_service
from tracejury.collector.queries.doctor.ask import of_all, of_service, of_trace
from tracejury.collector.queries.explain.glossary import explain, glossary
from tracejury.collector.queries.present_doctor import present_diagnosis
from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.judges.rule_settings import RuleSettings
from tracejury.schemas.filters import an_id
from tracejury.schemas.wire.doctor import DoctorPage
from tracejury.schemas.wire.explain import TermJson, TermPage

from .answers import documented, json_answer
from .params import DoctorParams, Params, Text


class ExplainParams(Params):
    """Parameters of one term."""

    service: Annotated[
        Text, Field(description="Also the record and the settings of a built-in detector on this service")
    ] = ""


def add_explain(app: FastAPI, reader: StoredReader, settings: RuleSettings) -> None:
    """Add the endpoints; without a service they ask nothing of the store."""

    @app.get("/api/explain", responses=documented(TermPage))
    def all_terms() -> Response:
        """Every judge, detector, dimension, category, severity, outcome, profile, figure and word."""
        return json_answer({"items": [TermJson.model_validate(term) for term in glossary().values()], "next": None})

    @app.get("/api/explain/{term}", responses=documented(TermJson, 404))
    def one_term(term: str, params: Annotated[ExplainParams, Query()]) -> Response:
        """One of them, by key or title; where there is none, the refusal names near ones."""
        found = explain_on_service(reader, settings, term, params.service) if params.service else explain(term)
        return json_answer(TermJson.model_validate(found))


def add_doctor(app: FastAPI, reader: StoredReader, clock: Callable[[], int]) -> None:
    """The one endpoint; `clock` gives unix nanos."""

    @app.get("/api/doctor", responses=documented(DoctorPage, 404))
    def doctor(params: Annotated[DoctorParams, Query()]) -> Response:
        """The diagnosis of one trace, of one service, or of every service of the last day."""
        if params.trace:
            found = [of_trace(reader, an_id(params.trace))]
        elif params.service:
            found = [of_service(reader, params.service)]
        else:
            found = of_all(reader, clock())
        return json_answer({"items": [present_diagnosis(one) for one in found], "next": None})
