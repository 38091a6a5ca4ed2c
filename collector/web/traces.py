"""The list of traces."""

from __future__ import annotations

from typing import Annotated

from fastapi import FastAPI, Query, Request, Response

from tracejury.collector.api.lists import traces_page
from tracejury.schemas.list_columns import COLUMNS_OF_TRACES

from .lists import PARAMS, PageParams, list_page
from .site import Site, page


def add_traces(app: FastAPI, site: Site) -> None:
    """`/traces`, and the suggestions of its filters."""

    @page(app, "/traces", *PARAMS)
    def traces(request: Request, asked: Annotated[PageParams, Query()]) -> Response:
        return list_page(site, request, asked, COLUMNS_OF_TRACES, traces_page, site.reader.traces)

    @page(app, "/fragments/facets")
    def facets(request: Request) -> Response:
        window = site.window(request)
        until = 0 if window.range else window.until
        return site.render(request, "lists/facets.html", facets=site.reader.facets(window.since, until, window.service))
