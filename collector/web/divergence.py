"""`/compare/traces`: two traces side by side, and where runs that fail part from runs that pass."""

from __future__ import annotations

from typing import Final

from anyio import CapacityLimiter
from fastapi import FastAPI, Request, Response

from tracejury.collector.api.prefixes import whole_trace_id
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.queries.divergence import DivergenceQuery
from tracejury.schemas.queries.reader import Confidence, TraceQuery

from .site import Site, rebuilding
from .trace.pages import trace_index_of

NAMES: Final = ("first", "second", "task", "pattern", "profile")
OFFERED: Final = 20
"""Traces that the form for the other one offers, the latest."""
THREADS: Final = 2
_LONGEST: Final = 1000
"""Characters of an id that is looked for."""


def add_divergence(app: FastAPI, site: Site) -> None:
    """`/compare/traces?first=&second=`, or `?task=` or `?pattern=`; without the second one a form that asks for it."""

    @rebuilding(app, "/compare/traces", CapacityLimiter(THREADS), *NAMES)
    def compare(request: Request) -> Response:
        given = {name: request.query_params.get(name, "")[:_LONGEST] for name in NAMES}
        runs = pair = None
        if given["task"] and given["pattern"]:
            raise ConfigError("name either a task or a pattern")
        if given["task"] or given["pattern"]:
            window = site.window(request)
            query = DivergenceQuery(
                window.since, window.until, given["task"], given["pattern"], window.service, given["profile"]
            )
            runs = site.reader.divergences.runs(query)
        elif not given["first"]:
            raise ConfigError("name a trace, a task or a pattern: the pages of traces and issues lead here")
        first = given["first"] and whole_trace_id(site.reader, given["first"])
        if first and given["second"]:
            pair = site.reader.divergences.traces(first, whole_trace_id(site.reader, given["second"]))
        others = _others(site, first) if first and pair is None else []
        return site.render(
            request, "compare_traces.html", runs=runs, pair=pair, first=first, others=others, asked=given
        )


def _others(site: Site, first: str) -> list[str]:
    """The latest other traces of its service."""
    service = trace_index_of(site, first).outline.service
    rows = site.reader.traces(TraceQuery(Confidence.of(""), OFFERED + 1, service))
    return [row.trace_id for row in rows if row.trace_id != first][:OFFERED]
