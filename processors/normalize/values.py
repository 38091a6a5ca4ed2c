"""Hostile text to values: JSON that never raises, texts and numbers out of stored attributes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import orjson

_OPENERS: Final = "{["
_MAX_INDEX_DIGITS: Final = 9
_MAX_DEPTH: Final = 100

NOT_JSON: Final = object()


def parse_json(text: str) -> Any:
    """The JSON object or array that `text` holds, else `NOT_JSON`.

    Numbers, booleans, null and quoted strings stay text: a bare `12` or `true` is what the agent said. Accepts what
    Python's json module writes (NaN, integers over 64 bits, lone surrogates) and refuses nesting over 100 levels.
    """
    head = text[:1]
    if head not in _OPENERS or not head:
        text = text.strip()
        if text[:1] not in _OPENERS or not text:
            return NOT_JSON
    try:
        value = orjson.loads(text)
    except ValueError:
        value = _parse_leniently(text)
    return value


def _parse_leniently(text: str) -> Any:
    """Python's dialect, where orjson refuses: tried only if it could matter, because it is slow."""
    if text[-1:] not in "}] \n\t\r":
        return NOT_JSON
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return NOT_JSON


def parse_object(text: str) -> dict[str, Any] | None:
    """The JSON object that `text` holds, else None."""
    value = parse_json(text)
    return value if isinstance(value, dict) else None


def parse_array(text: str) -> list[Any] | None:
    """The JSON array that `text` holds, else None."""
    value = parse_json(text)
    return value if isinstance(value, list) else None


def as_text(value: Any) -> str:
    """`value` as text: strings as they are, None as "", everything else as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    try:
        return orjson.dumps(value).decode()
    except (TypeError, ValueError):
        return _dump_leniently(value)


def _dump_leniently(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        return ""


def as_int(text: str | None) -> int | None:
    """A whole number of at most 18 digits, else None."""
    if not text or len(text) > 18 or not text.isascii():
        return None
    try:
        return int(text)
    except ValueError:
        return None


def as_index(text: str) -> int | None:
    """An attribute key's index, else None. Indices are labels here: a huge one costs nothing."""
    if text.isdecimal() and text.isascii() and len(text) <= _MAX_INDEX_DIGITS:
        return int(text)
    return None


def text_list(value: Any) -> tuple[str, ...]:
    """The strings of a JSON array (or one string) as a tuple."""
    if isinstance(value, str):
        return (value,) if value else ()
    if isinstance(value, list):
        return tuple(v for v in value if isinstance(v, str))
    return ()


def first(mapping: Mapping[str, str], *keys: str) -> str:
    """The first non-empty of the values under `keys`, else ""."""
    for key in keys:
        if value := mapping.get(key):
            return value
    return ""
