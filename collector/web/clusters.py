"""The page of clusters of errors."""

from __future__ import annotations

from typing import Final

from anyio import CapacityLimiter
from fastapi import FastAPI, Request, Response

from tracejury.schemas.queries.reader import Confidence, ErrorQuery

from .site import Site, rebuilding, simulated

MOST: Final = 50
"""Clusters on the page."""


def add_clusters(app: FastAPI, site: Site) -> None:
    """`/clusters`."""

    # One at a time: comparing thousands of texts takes a core for seconds.
    @rebuilding(app, "/clusters", CapacityLimiter(1), "simulated", "profile")
    def clusters(request: Request) -> Response:
        window, of_simulated = site.window(request), simulated(request)
        profile = request.query_params.get("profile", "")
        query = ErrorQuery(
            Confidence.of(profile), 0, service=window.service, since=window.since, simulated=of_simulated
        )
        answer = site.reader.clusters.ask(query, window.until)
        return site.render(request, "clusters.html", answer=answer, most=MOST, simulated=of_simulated)
