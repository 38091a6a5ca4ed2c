"""The page of alert rules: their figures and states, and what they told."""

from __future__ import annotations

from typing import Final

from fastapi import FastAPI, Request, Response

from .site import Site, page

HISTORY: Final = 100


def add_alerts_page(app: FastAPI, site: Site) -> None:
    """`/alerts`."""

    @page(app, "/alerts")
    def alerts(request: Request) -> Response:
        return site.render(request, "alerts.html", answer=site.reader.alerts.answer(HISTORY, site.clock()))
