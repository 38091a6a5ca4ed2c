"""Pages of patterns of errors: what keeps going wrong."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

from fastapi import FastAPI, Request, Response
from fastapi.responses import RedirectResponse

from tracejury.collector.api.prefixes import whole_error_id
from tracejury.collector.queries.present_patterns import bounds, told
from tracejury.schemas.annotations import PatternMark, Review
from tracejury.schemas.errors import ConfigError, NotFoundError
from tracejury.schemas.filters import an_id
from tracejury.schemas.queries.labels import LabelQuery
from tracejury.schemas.queries.patterns import STATES, PatternQuery
from tracejury.schemas.queries.reader import Confidence

from .site import Site, page, simulated
from .trace.pages import annotator

MOST: Final = 100
ON_OVERVIEW: Final = 5
NAMES: Final = ("state", "profile", "simulated")


def add_patterns(app: FastAPI, site: Site) -> None:
    """`/patterns`, `/patterns/{id}` and their part of the overview."""

    def asked(request: Request, limit: int, pattern: str = "", state: str = "") -> PatternQuery:
        window, given = site.window(request), request.query_params
        state = state or given.get("state", "")
        if state not in ("", *STATES):
            raise ConfigError(f"no state {state[:40]!r}: use one of {', '.join(STATES)}")
        profile = given.get("profile", "")
        return PatternQuery(
            window.since, window.until, window.service, pattern, state, profile, simulated(request), limit
        )

    @page(app, "/patterns", *NAMES)
    def patterns(request: Request) -> Response:
        query = asked(request, MOST)
        answer = site.reader.patterns.ask(query)
        return site.render(request, "patterns.html", answer=answer, asked=query, states=STATES, told=told)

    @page(app, "/overview/patterns", *NAMES, "unit", "population", "attribute", "tag", "user")
    def worst(request: Request) -> Response:
        answer = site.reader.patterns.ask(asked(request, ON_OVERVIEW))
        return site.render(request, "worst_patterns.html", answer=answer, told=told)

    @page(app, "/errors/{some_id}/pattern", "profile")
    def of_error(request: Request, some_id: str) -> Response:
        profile = request.query_params.get("profile", "")
        found = site.reader.error(whole_error_id(site.reader, some_id), Confidence.of(profile))
        if found is None or not found.located.error.pattern:
            raise NotFoundError(f"no pattern of an error {some_id[:64]!r} is known")
        target = f"/patterns/{found.located.error.pattern}"
        return RedirectResponse(f"{target}?{urlencode({'profile': profile})}" if profile else target, status_code=303)

    @page(app, "/patterns/{pattern_id}", *NAMES)
    def pattern(request: Request, pattern_id: str) -> Response:
        found = site.reader.patterns.one(asked(request, 1, an_id(pattern_id), "all"))
        if found is None:
            raise NotFoundError(f"no pattern {pattern_id[:64]!r} is known in this time, or its errors are all gone")
        row, looked_at = found
        return site.render(
            request, "pattern.html", row=row, told=told, bounds=bounds, marks=list(PatternMark),
            annotator=annotator(request), looked_at=looked_at,
            # Without reviews a missing calibration needs no explanation.
            reviewed=site.reader.labels.find(Review, LabelQuery(1)),
        )  # fmt: skip
