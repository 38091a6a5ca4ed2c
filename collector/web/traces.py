"""The list of traces."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import FastAPI, Query, Request, Response

from tracejury.collector.api.lists import traces_page
from tracejury.schemas.queries.listing import Sort

from .lists import PARAMS, PageParams, list_page
from .site import Site, page

COLUMNS: Final = (
    ("Trace", None, False),
    ("Arrived", Sort.RECEIVED, False),
    ("Service, agents", None, False),
    ("Errors", Sort.SEVERITY, False),
    ("Took", Sort.DURATION, True),
    ("Turns", None, True),
    ("Tokens", Sort.TOKENS, True),
    ("Cost", Sort.COST, True),
    ("Status", None, False),
)


def add_traces(app: FastAPI, site: Site) -> None:
    """`/traces`, and the suggestions of its filters."""

    @page(app, "/traces", *PARAMS)
    def traces(request: Request, asked: Annotated[PageParams, Query()]) -> Response:
        return list_page(site, request, asked, COLUMNS, traces_page, site.reader.traces)

    @page(app, "/fragments/facets")
    def facets(request: Request) -> Response:
        window = site.window(request)
        until = 0 if window.range else window.until
        return site.render(request, "lists/facets.html", facets=site.reader.facets(window.since, until, window.service))
