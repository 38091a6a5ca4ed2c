"""The page of clusters of errors."""

from __future__ import annotations

from typing import Final

from anyio import CapacityLimiter
from fastapi import FastAPI, Request, Response

from tracejury.collector.api.params_clusters import ClusterFilters, error_query
from tracejury.judges.llm.data_files import model_of

from .site import Site, rebuilding, simulated

MOST: Final = 50
"""Clusters on the page."""

NAMES: Final = ("pack", "judge", "task", "profile")
"""Filters of the page, beside time, service and `simulated`."""


def add_clusters(app: FastAPI, site: Site) -> None:
    """`/clusters`."""

    # One at a time: comparing thousands of texts takes a core for seconds.
    @rebuilding(app, "/clusters", CapacityLimiter(1), "simulated", *NAMES)
    def clusters(request: Request) -> Response:
        window, measures = site.window(request), site.reader.measures
        given = {name: request.query_params.get(name, "") for name in NAMES}
        others = {"service": window.service, "simulated": simulated(request)}
        asked = model_of(given | others, ClusterFilters, "filters")
        packs = [pack.name for pack in measures.packs]
        answer = site.reader.clusters.ask(error_query(asked, window.since, packs, measures.task_keys), window.until)
        return site.render(request, "clusters.html", answer=answer, most=MOST, asked=asked, packs=packs)
