"""Values that are not written as plain JSON: Python's notation (`repr`), JSON encoded twice, JSON lines."""

from __future__ import annotations

import ast
from contextlib import suppress
from typing import Any, Final

from .values import NOT_JSON, parse_json

_LONGEST: Final = 20_000
_MOST_BRACKETS: Final = 2_000
_MOST_LINES: Final = 2_000
_ENCODED: Final = 4  # times that a value may be encoded


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


def parse_notation(text: str) -> dict[str, Any] | None:
    """The fields of an object that `text` holds as Python's `repr` writes it, `Type(name='…', …)`, else None.

    Fields that are no literals are left out.
    """
    if not text.endswith(")") or len(text) > _LONGEST or sum(map(text.count, "([{")) > _MOST_BRACKETS:
        return None
    try:
        call = ast.parse(text, mode="eval").body
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    if not isinstance(call, ast.Call) or call.args or not isinstance(call.func, ast.Name):
        return None
    fields = {}
    for keyword in call.keywords:
        with suppress(ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            fields[str(keyword.arg)] = _plain(ast.literal_eval(keyword.value))
    return fields


def read_value(text: str) -> Any:
    """The object or array that `text` holds however it is encoded, else `NOT_JSON`."""
    value = parse_json(text)
    if value is NOT_JSON and text[:1] == '"':
        value = _unquoted(text)
    if value is NOT_JSON and text[:1] in ("{", "["):
        value = parse_literal(text)
        if value is NOT_JSON and text[0] == "{":
            value = _lines(text)
    return value


def _unquoted(text: str) -> Any:
    """What is encoded twice or more often."""
    for _ in range(_ENCODED):
        items = parse_json(f"[{text}]")
        if not isinstance(items, list) or len(items) != 1 or not isinstance(items[0], str):
            break
        text = items[0]
        if text[:1] != '"':
            return parse_json(text)
    return NOT_JSON


def _lines(text: str) -> Any:
    """JSON lines: an object each."""
    lines = text.splitlines() if text.count("\n") < _MOST_LINES else []
    values = [parse_json(line) for line in lines if line.strip()]
    return values if values and all(isinstance(v, dict) for v in values) else NOT_JSON


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k if isinstance(k, str) else str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(v) for v in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value)  # bytes, complex numbers, an ellipsis
