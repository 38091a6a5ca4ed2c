"""JSON text of values that came from spans: always valid UTF-8 and always valid JSON, whatever a client sent.

Lone surrogates become U+FFFD and NaN and infinities become null, as neither can be written in JSON that every
parser reads. What is nested deeper than `MAX_DEPTH` is replaced by the text "…".
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import orjson

MAX_DEPTH = 200
_INTEGERS = range(-(2**63), 2**64)  # what the encoder and most readers of JSON take
_SURROGATE = re.compile("[\ud800-\udfff]")


def bytes_of(value: object) -> bytes:
    """The JSON text of `value` in UTF-8."""
    try:
        return orjson.dumps(value, default=_fields)
    except (TypeError, orjson.JSONEncodeError, RecursionError):
        return orjson.dumps(_plain(value, MAX_DEPTH))


def text_of(value: object) -> str:
    """The JSON text of `value` as a string."""
    return bytes_of(value).decode()


def _fields(value: object) -> dict[str, object]:
    # The models of the API, of a library that the SDK goes without.
    if hasattr(type(value), "__pydantic_fields__"):
        return vars(value)
    raise TypeError


def _plain(value: Any, depth: int) -> Any:
    match value:
        case _ if hasattr(type(value), "__pydantic_fields__"):
            return _plain(vars(value), depth)
        case Mapping() if depth:
            return {_scalar(str(key)): _plain(item, depth - 1) for key, item in value.items()}
        case list() | tuple() if depth:
            return [_plain(item, depth - 1) for item in value]
        case Mapping() | list() | tuple():
            return "…"
        case _:
            return _scalar(value)


def _scalar(value: Any) -> str | float | bool | None:
    match value:
        case bool() | None:
            return value
        case int():
            return value if value in _INTEGERS else str(value)
        case float():
            return value if math.isfinite(value) else None
        case _:
            return _SURROGATE.sub("\ufffd", str(value))
