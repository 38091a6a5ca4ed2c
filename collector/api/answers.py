"""Answers of the API: JSON that is always valid, and every refusal as `{"detail": one line}`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from ...schemas.errors import ConfigError, NotFoundError, PermanentError, RetryableError, TracejuryError
from ..jsontext import bytes_of
from ..shapes import ProblemJson


def json_answer(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """`value` as a JSON response, which a browser must not take for anything else."""
    safe = {**(headers or {}), "X-Content-Type-Options": "nosniff"}
    return Response(bytes_of(value), status_code=status, headers=safe, media_type="application/json")


def problem(status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    """A refusal."""
    return json_answer({"detail": detail}, status, headers)


def documented(model: Any, *refusals: int) -> dict[int | str, dict[str, Any]]:
    """The answers of an endpoint for the OpenAPI document: its shape, and those of its refusals."""
    return {200: {"model": model}, **{status: {"model": ProblemJson} for status in (*refusals, 422)}}


async def on_error(_request: Request, error: Exception) -> Response:
    """Errors of ours by what the caller should do."""
    match error:
        case NotFoundError():
            return problem(404, str(error))
        case RetryableError():
            return problem(503, str(error), {"Retry-After": str(max(1, round(error.retry_after)))})
        case ConfigError() | PermanentError():
            return problem(422, str(error))
        case TracejuryError():
            return problem(500, str(error))
        case _:
            # The framework raises it again once it is answered, and the server then closes: the client must know, or
            # its next request on this connection is lost.
            return problem(500, "an unexpected error; the collector's log tells more", {"Connection": "close"})


async def on_http_error(_request: Request, error: Exception) -> Response:
    """What the framework refuses: unknown paths, wrong methods."""
    if not isinstance(error, HTTPException):
        raise error
    return problem(error.status_code, str(error.detail), error.headers)


async def on_bad_parameters(_request: Request, error: Exception) -> Response:
    """Parameters that do not fit, the first of them in one line."""
    if not isinstance(error, RequestValidationError):
        raise error
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"][1:] if not isinstance(part, int))
    if first["type"] == "extra_forbidden":
        return problem(422, f"unknown parameter {place!r}")
    if first["type"] == "json_invalid":
        return problem(422, "the body is not valid JSON")
    message = str(first["msg"]).removeprefix("Value error, ")
    return problem(422, f"{place}: {message}" if place else message)
