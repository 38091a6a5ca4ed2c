"""The overview: how often agents err, where, and what was not judged."""

from __future__ import annotations

from fastapi import FastAPI, Request, Response

from .site import Site, page


def add_overview(app: FastAPI, site: Site) -> None:
    """`/`, and the list of services for the filter of every page."""

    @page(app, "/")
    def overview(request: Request) -> Response:
        return site.render(request, "overview.html")

    @page(app, "/fragments/services")
    def services(request: Request) -> Response:
        return site.render(request, "services.html", names=site.reader.services(site.window(request).since, 200))
