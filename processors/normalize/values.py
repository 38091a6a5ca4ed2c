"""Hostile text to values: JSON that never raises, texts and numbers out of stored attributes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

import orjson

_MAX_JSON: Final = 8_000_000  # characters; parsed JSON can take 30 times the memory of its text
_MAX_DEPTH: Final = 100
_SHORT: Final = 4_000
_LONG_NUMBER: Final = re.compile(r"[0-9]{19}")
_STEP: Final = 6
_THREE_DIGITS: Final = re.compile(r"[0-9]{3}")  # 19 digits leave three side by side among every sixth character
_MAX_INT_DIGITS: Final = 18
_MAX_DECIMAL: Final = 24  # characters
_LEAST_INEXACT: Final = 2.0**53
_MAX_INDEX_DIGITS: Final = 9

NOT_JSON: Final = object()


def parse_json(text: str) -> Any:
    """The JSON object or array that `text` holds, else `NOT_JSON`.

    Numbers, booleans, null and quoted strings stay text: a bare `12` or `true` is what the agent said. Accepts what
    Python's json module writes (NaN, lone surrogates, integers over 64 bits, which keep all their digits in texts of
    up to 4,000 characters); refuses nesting over 100 levels and texts over 8 million characters, so that whoever
    walks or compares the result may recurse.
    """
    if not text:
        return NOT_JSON
    if text[0] not in "{[":
        text = text.strip()
        if not text or text[0] not in "{[":
            return NOT_JSON
    if len(text) > _MAX_JSON:
        return NOT_JSON
    if len(text) <= _SHORT and _THREE_DIGITS.search(text[::_STEP]) and _LONG_NUMBER.search(text):
        value = _parse_leniently(text)  # orjson makes floats of them
    else:
        try:
            value = orjson.loads(text)
        except ValueError:
            value = _parse_leniently(text)
    return NOT_JSON if _may_be_deep(text) and _is_too_deep(value) else value


def _parse_leniently(text: str) -> Any:
    """Python's dialect, where orjson refuses; only for text that could be whole, because it is slow."""
    if text.rstrip()[-1] not in "}]":
        return NOT_JSON
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return NOT_JSON


def _may_be_deep(text: str) -> bool:
    return text.count("[") + text.count("{") > _MAX_DEPTH


_NESTED: Final = (dict, list)


def _is_too_deep(value: Any) -> bool:
    level = [value] if isinstance(value, _NESTED) else []
    for _ in range(_MAX_DEPTH):
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, _NESTED)
        ]
        if not level:
            return False
    return True


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
    except TypeError:  # integers over 64 bits, lone surrogates
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def text_of(value: Any) -> str:
    """`value` if it is a string, else ""."""
    return value if isinstance(value, str) else ""


def as_int(text: str | None) -> int | None:
    """A whole number of at most 18 digits, also as a decimal (`30.0`: some senders count in doubles), else None."""
    if not text or len(text) > _MAX_DECIMAL or not text.isascii():
        return None
    try:
        return int(text) if len(text) <= _MAX_INT_DIGITS else _whole(text)
    except ValueError:
        return _whole(text)


def _whole(text: str) -> int | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return int(number) if abs(number) < _LEAST_INEXACT and number.is_integer() else None


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
