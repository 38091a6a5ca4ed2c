"""Answers of the API: JSON that is always valid, and every refusal as `{"detail": one line}`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from tracejury.judges.llm.problems import told
from tracejury.schemas.errors import (
    ConfigError,
    ForbiddenError,
    NotFoundError,
    PermanentError,
    RetryableError,
    TracejuryError,
    UnauthorizedError,
)
from tracejury.schemas.text.jsontext import bytes_of
from tracejury.schemas.wire.traces import ProblemJson

NO_PAGES = ("/api", "/v1", "/mcp", "/healthz", "/readyz", "/metrics", "/openapi.json")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not served: an HTTP status and one line."""

    status: int
    detail: str
    headers: Mapping[str, str] = field(default_factory=dict)


class JsonAnswer(Response):
    """A JSON answer; that of a page of a list also has its neighbours in the header `Link` (RFC 8288).

    `cursor`: the page's `next`, None on the last one and of what is no page.
    """

    media_type = "application/json"

    def __init__(self, content: bytes, status: int, headers: Mapping[str, str], cursor: str | None) -> None:
        super().__init__(content, status, headers)
        self._cursor = cursor

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it; links repeat the parameters that were asked with."""
        if scope["method"] == "GET" and (links := page_links(scope["query_string"].decode("latin-1"), self._cursor)):
            self.headers["Link"] = links
        await super().__call__(scope, receive, send)


def page_links(query: str, cursor: str | None) -> str:
    """The header `Link` of a page that was asked for with `query`, relative to its own address; "" for none."""
    asked = parse_qsl(query, keep_blank_values=True)
    names = {name for name, value in asked if value}
    place = "after" if "after" in names else "cursor"
    others = [(name, value) for name, value in asked if name != place]
    links = [f'<?{urlencode([*others, (place, cursor)])}>; rel="next"'] if cursor else []
    if "cursor" in names:
        links.append(f'<?{urlencode(others)}>; rel="first"')
    return ", ".join(links)


def json_answer(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """`value` as a JSON response, which a browser must not take for anything else."""
    safe = {**(headers or {}), "X-Content-Type-Options": "nosniff"}
    cursor = value.get("next") if isinstance(value, dict) and "items" in value else None
    return JsonAnswer(bytes_of(value), status, safe, cursor)


def problem(status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    """A refusal."""
    return json_answer({"detail": detail}, status, headers)


def documented(model: Any, *refusals: int) -> dict[int | str, dict[str, Any]]:
    """The answers of an endpoint for the OpenAPI document: its shape, and those of its refusals."""
    return {200: {"model": model}, **{status: {"model": ProblemJson} for status in (*refusals, 422)}}


def wants_page(scope: Scope) -> bool:
    """Whether a person in a browser reads the answer."""
    programs = any(scope["path"] == path or scope["path"].startswith(f"{path}/") for path in NO_PAGES)
    return not programs and "text/html" in Headers(scope=scope).get("accept", "")


def refuse(scope: Scope, refusal: Refusal) -> Response:
    """The refusal as JSON; as a page where a person asked and the application has pages (`app.state.refusal_page`)."""
    page = getattr(scope["app"].state, "refusal_page", None) if "app" in scope else None
    if page is not None and wants_page(scope):
        shown: Response = page(scope, refusal)
        return shown
    return problem(refusal.status, refusal.detail, refusal.headers)


STATUSES: Final[tuple[tuple[type[TracejuryError], int], ...]] = (
    (NotFoundError, 404),
    (UnauthorizedError, 401),
    (ForbiddenError, 403),
    (RetryableError, 503),
    (ConfigError, 422),
    (PermanentError, 422),
)
"""The HTTP statuses of errors of ours; the first row that fits counts."""


def refusal_of(error: Exception) -> Refusal:
    """Errors of ours by what the caller should do."""
    match error:
        case TracejuryError():
            status = next((status for kind, status in STATUSES if isinstance(error, kind)), 500)
            return Refusal(status, str(error), _hints(error))
        case HTTPException():
            return Refusal(error.status_code, str(error.detail), error.headers or {})
        case RequestValidationError():
            return Refusal(422, _misfit(error))
        case _:
            # The framework raises it again once it is answered, and the server then closes: the client must know, or
            # its next request on this connection is lost.
            return Refusal(500, "an unexpected error; the collector's log tells more", {"Connection": "close"})


def _hints(error: TracejuryError) -> Mapping[str, str]:
    if isinstance(error, UnauthorizedError):
        return {"WWW-Authenticate": "Bearer"}
    return {"Retry-After": str(max(1, round(error.retry_after)))} if isinstance(error, RetryableError) else {}


async def on_error(request: Request, error: Exception) -> Response:
    """Whatever an endpoint or the framework raises, as a refusal."""
    return refuse(request.scope, refusal_of(error))


def _misfit(error: RequestValidationError) -> str:
    # Of parameters that do not fit, the first.
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"][1:] if not isinstance(part, int) and "[" not in part)
    if first["type"] == "json_invalid":
        return "the body is not valid JSON"
    return f"{place}: {told(first)}" if place else told(first)
