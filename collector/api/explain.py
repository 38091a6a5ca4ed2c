"""`/api/explain`: what words and figures mean."""

from __future__ import annotations

from fastapi import FastAPI, Response

from ...schemas.wire.explain import TermJson, TermPage
from ..queries.explain.glossary import explain, glossary
from .answers import documented, json_answer


def add_explain(app: FastAPI) -> None:
    """Add the endpoints; they ask nothing of the store."""

    @app.get("/api/explain", responses=documented(TermPage))
    def all_terms() -> Response:
        """Every judge, detector, dimension, category, severity, outcome, profile, figure and word."""
        return json_answer({"items": [TermJson.model_validate(term) for term in glossary().values()], "next": None})

    @app.get("/api/explain/{term}", responses=documented(TermJson, 404))
    def one_term(term: str) -> Response:
        """One of them, by key or title; where there is none, the refusal names near ones."""
        return json_answer(TermJson.model_validate(explain(term)))
