"""Error pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from fastapi import Response
from fastapi.responses import HTMLResponse
from jinja2 import Environment
from starlette.datastructures import QueryParams
from starlette.types import Scope

from tracejury.collector.api.answers import Refusal
from tracejury.collector.api.security import SECURE
from tracejury.schemas.errors import ConfigError

from .window import Window, read_window

TITLES: Final = {
    401: "Sign in",
    403: "Refused",
    404: "Not found",
    405: "Not possible",
    421: "Another host",
    422: "Not understood",
    500: "Something broke",
    503: "Busy just now",
}


DETAILS: Final = {
    "Not Found": "No page has this address.",
    "Method Not Allowed": "This address takes no such request.",
}
"""Texts in place of the framework's."""


def refusal_pages(templates: Environment, clock: Callable[[], int]) -> Callable[[Scope, Refusal], Response]:
    """A function that renders a refusal as a page. It asks nothing of the store, which may be what failed."""

    def show(scope: Scope, refusal: Refusal) -> Response:
        now = clock()
        text = templates.get_template("refusal.html").render(
            title=TITLES.get(refusal.status, "Refused"),
            status=refusal.status,
            detail=DETAILS.get(refusal.detail, refusal.detail),
            window=_window(scope, now),
            now=now,
            path=scope["path"],
            params=(),
            csrf="",
        )
        # Those of unexpected errors pass no middleware.
        return HTMLResponse(text, refusal.status, headers={**SECURE, **refusal.headers, "Cache-Control": "no-store"})

    return show


def _window(scope: Scope, now: int) -> Window:
    """The window of the URL, or the default where the URL's is invalid."""
    try:
        return read_window(QueryParams(scope["query_string"]), now)
    except ConfigError:
        return read_window({}, now)
