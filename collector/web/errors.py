"""Refusals as pages, for people in a browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from fastapi import Response
from fastapi.responses import HTMLResponse
from jinja2 import Environment
from starlette.types import Scope

from ..api.answers import Refusal
from .security import SECURE

TITLES: Final = {
    403: "Refused",
    404: "Not found",
    405: "Not possible",
    421: "Another host",
    422: "Not understood",
    500: "Something broke",
    503: "Busy just now",
}


def refusal_pages(templates: Environment) -> Callable[[Scope, Refusal], Response]:
    """What makes a page of a refusal. It asks nothing of the store, which may be what failed."""

    def show(_scope: Scope, refusal: Refusal) -> Response:
        title = TITLES.get(refusal.status, "Refused")
        text = templates.get_template("refusal.html").render(title=title, status=refusal.status, detail=refusal.detail)
        # Those of unexpected errors pass no middleware.
        return HTMLResponse(text, refusal.status, headers={**SECURE, **refusal.headers, "Cache-Control": "no-store"})

    return show
