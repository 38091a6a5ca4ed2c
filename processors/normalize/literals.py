"""Python's notation of plain values (`repr`), which some instrumentations write where others write JSON."""

from __future__ import annotations

import ast
from typing import Any, Final

from .values import NOT_JSON

_LONGEST: Final = 20_000
_MOST_BRACKETS: Final = 2_000


def parse_literal(text: str) -> Any:
    """The dict or list that `text` holds in Python's notation, as JSON would have it, else `NOT_JSON`.

    Only literals are read: nothing is called or looked up. Texts over 20,000 characters or 2,000 brackets are not
    tried; deeper nesting than Python's own parser takes (200) is refused by it.
    """
    text = text.strip()
    if not text or len(text) > _LONGEST or text[0] + text[-1] not in ("{}", "[]"):
        return NOT_JSON
    if sum(map(text.count, "([{")) > _MOST_BRACKETS:
        return NOT_JSON
    try:
        return _plain(ast.literal_eval(text))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return NOT_JSON


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k if isinstance(k, str) else str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(v) for v in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value)  # bytes, complex numbers, an ellipsis
