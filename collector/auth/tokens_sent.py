"""The token of a request, from HTTP headers or gRPC metadata."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from typing import Final

_BEARER: Final = "bearer "
_BASIC: Final = "basic "


def token_sent(headers: Iterable[tuple[str, str | bytes]]) -> str:
    """The token in `authorization: Bearer …`, else in `x-api-key`; "" where there is none. Names in lower case.

    Of `authorization: Basic …` it is the password, where Langfuse's clients have their secret key.
    """
    found = {name: value for name, value in headers if name in ("authorization", "x-api-key")}
    authorization = _text(found.get("authorization", ""))
    token = ""
    if authorization.lower().startswith(_BEARER):
        token = authorization[len(_BEARER) :].strip()
    elif authorization.lower().startswith(_BASIC):
        token = _password(authorization[len(_BASIC) :])
    return token or _text(found.get("x-api-key", "")).strip()


def _password(encoded: str) -> str:
    try:
        return base64.b64decode(encoded.strip(), validate=True).decode().partition(":")[2].strip()
    except (binascii.Error, ValueError):
        return ""


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("latin-1")
