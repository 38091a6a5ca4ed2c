"""A tolerant JSON parser: broken text costs one span, not the request.

Lone surrogate escapes become U+FFFD. Bytes that are not UTF-8 turn the string they stand in into `BROKEN_TEXT`,
which is of no type that any field takes, so that just the span around it is rejected.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final, NoReturn

import orjson

from ....schemas.errors import PermanentError

BROKEN_TEXT: Final = object()

_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"  # a proper pair
    rb"|(?P<lone>u[dD][89a-fA-F][0-9a-fA-F]{2})"
    rb"|.)",  # any other escape, a backslash's among them
    re.DOTALL,
)
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
    mended = _ESCAPE.sub(_without_lone_surrogate, body)
    try:
        mended.decode()
    except UnicodeDecodeError:
        return _load_broken(mended)
    try:
        return orjson.loads(mended)
    except orjson.JSONDecodeError:
        raise PermanentError(f"the body is not JSON: {reason}") from None


def _without_lone_surrogate(escape: re.Match[bytes]) -> bytes:
    return rb"\ufffd" if escape["lone"] else escape[0]


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
