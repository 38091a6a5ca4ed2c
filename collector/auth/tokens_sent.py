"""The token of a request, from HTTP headers or gRPC metadata."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_BEARER: Final = "bearer "


def token_sent(headers: Iterable[tuple[str, str | bytes]]) -> str:
    """The token in `authorization: Bearer …`, else in `x-api-key`; "" where there is none. Names in lower case."""
    found = {name: value for name, value in headers if name in ("authorization", "x-api-key")}
    bearer = _text(found.get("authorization", ""))
    if bearer.lower().startswith(_BEARER):
        return bearer[len(_BEARER) :].strip()
    return _text(found.get("x-api-key", "")).strip()


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("latin-1")
