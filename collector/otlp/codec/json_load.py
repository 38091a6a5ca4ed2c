"""A tolerant JSON parser: broken text costs one span, not the request.

Lone surrogate escapes become U+FFFD. Bytes that are not UTF-8 turn the string they stand in into `BROKEN_TEXT`,
which is of no type that any field takes, so that just the span around it is rejected.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final, NoReturn

import orjson

from tracejury.schemas.errors import PermanentError

BROKEN_TEXT: Final = object()

_LONE = rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
_PAIR = rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
# Runs without a lone surrogate, each short enough not to keep other threads waiting.
_RUN = re.compile(rb"(?:[^\\]{1,1000}+|" + _PAIR + rb"|(?!" + _LONE + rb")\\.){1,1000}+|" + _LONE + rb"|\\", re.DOTALL)
_IS_LONE = re.compile(_LONE)
_SURROGATE = re.compile("[\ud800-\udfff]")


def load(body: bytes) -> Any:
    """The tree of a JSON text.

    Raises:
        PermanentError: it is not JSON, or nested beyond what the parser follows (about 1,000 levels).
    """
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        reason = error.msg
    mended = _without_lone_surrogates(body)
    try:
        mended.decode()
    except UnicodeDecodeError:
        return _load_broken(mended)
    try:
        return orjson.loads(mended)
    except orjson.JSONDecodeError:
        raise PermanentError(f"the body is not JSON: {reason}") from None


def _without_lone_surrogates(body: bytes) -> bytes:
    mended = bytearray()  # grown in place: millions of pieces would take many times the body's size
    for run in _RUN.finditer(body):
        mended += rb"\ufffd" if _IS_LONE.fullmatch(run[0]) else run[0]
    return bytes(mended)


def _load_broken(body: bytes) -> Any:
    # No surrogate escape is left in the text, so a surrogate can only stand for a broken byte.
    try:
        return _mark(json.loads(body.decode(errors="surrogateescape"), parse_constant=_refuse))
    except (ValueError, RecursionError):
        raise PermanentError("the body is neither JSON nor UTF-8") from None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _mark(tree: Any) -> Any:
    if isinstance(tree, str):
        return BROKEN_TEXT if _SURROGATE.search(tree) else tree
    if isinstance(tree, list):
        return [_mark(item) for item in tree]
    if isinstance(tree, dict):
        return {key: _mark(value) for key, value in tree.items()}
    return tree
