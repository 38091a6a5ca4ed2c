"""Replies that are data for a framework.

What the framework does with a key's value is its decision, and the value is no announcement of the model.
"""

from __future__ import annotations

import json
import re
from typing import Final

_READ: Final = 20_000
_MOST_VALUES: Final = 64
_FIELD: Final = re.compile(
    r"^[ \t>*_-]{0,8}[\w-]{1,40}[*_]{0,2}[ \t]?:[ \t*_]{0,4}[\"']?[\w.-]{1,80}[\"']?,?[ \t]{0,8}$", re.MULTILINE
)
"""A line that holds a key and a single word as its value."""

_DECODER: Final = json.JSONDecoder(strict=False)


def prose(text: str) -> str:
    """A text with its structured parts blanked, so that offsets stay: JSON values, and lines of a key and one word.

    A text that opens and ends as an object or a list is structured even where it is not valid JSON.
    """
    text = text[:_READ]
    bare = text.strip().removeprefix("```json").strip("`\n ")
    if (bare[:1], bare[-1:]) in (("{", "}"), ("[", "]")):
        return " " * len(text)
    at, values = text.find("{"), 0
    while at >= 0 and values < _MOST_VALUES:
        end = _end_of_object(text, at)
        text = text[:at] + " " * (end - at) + text[end:]
        at, values = text.find("{", max(end, at + 1)), values + 1
    return _FIELD.sub(lambda found: " " * len(found.group()), text)


def _end_of_object(text: str, at: int) -> int:
    """End of the JSON object with keys that begins at an offset, the offset itself where there is none."""
    try:
        value, end = _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return at
    return end if value else at
