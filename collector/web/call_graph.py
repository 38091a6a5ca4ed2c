"""`/graph`: who calls whom in a service, and the same as a part of other pages."""

from __future__ import annotations

from fastapi import FastAPI, Request, Response

from tracejury.schemas.queries.call_graph import CallGraphQuery

from .graph_drawing import picture_of
from .site import Site, page, simulated


def add_call_graph(app: FastAPI, site: Site) -> None:
    """`/graph` of the window's service, and `/fragments/graph`, its panel alone."""

    def render(request: Request, template: str) -> Response:
        window, of_simulated = site.window(request), simulated(request)
        asked = CallGraphQuery(window.since, window.until, window.service, of_simulated)
        graph = site.reader.call_graphs.ask(asked)
        return site.render(request, template, graph=graph, drawn=picture_of(graph), simulated=of_simulated)

    @page(app, "/graph", "simulated")
    def graph(request: Request) -> Response:
        return render(request, "service_graph.html")

    @page(app, "/fragments/graph", "simulated")
    def panel(request: Request) -> Response:
        return render(request, "graph_panel.html")
