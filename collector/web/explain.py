"""Pages of the glossary."""

from __future__ import annotations

from fastapi import FastAPI, Request, Response

from tracejury.collector.queries.detector_on_service import explain_on_service
from tracejury.collector.queries.explain.glossary import by_kind, explain, glossary

from .site import Site, page


def add_explain_pages(app: FastAPI, site: Site) -> None:
    """`/explain` and `/explain/{term}`."""

    @page(app, "/explain")
    def words(request: Request) -> Response:
        return site.render(request, "words.html", kinds=by_kind(glossary().values()))

    @page(app, "/explain/{term}")
    def word(request: Request, term: str) -> Response:
        service = request.query_params.get("service", "")
        found = explain_on_service(site.reader, site.services.settings, term, service) if service else explain(term)
        return site.render(request, "word.html", term=found)
