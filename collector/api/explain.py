"""`/api/explain`: what words and figures mean."""

from __future__ import annotations

from typing import Annotated

from fastapi import FastAPI, Query, Response
from pydantic import Field

from tracejury.collector.queries.detector_on_service import explain_on_service
from tracejury.collector.queries.explain.glossary import explain, glossary
from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.judges.rule_settings import RuleSettings
from tracejury.schemas.wire.explain import TermJson, TermPage

from .answers import documented, json_answer
from .params import Params, Text


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
