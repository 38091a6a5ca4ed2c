"""JSON as it was written, but with a line for each value."""

from __future__ import annotations

import re
from typing import Final

import orjson

MAX_LENGTH: Final = 100_000
"""Longest JSON that is indented, in characters."""

MAX_DEPTH: Final = 40
"""Deepest JSON that is indented: the white space of deeper ones would outgrow it."""

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+', re.DOTALL)


def pretty_json(text: str) -> str | None:
    """The text with only its white space changed; None where it is no JSON object or array, or too long or deep.

    No value is read and written again: numbers and names that stand twice stay as they are.
    """
    if len(text) > MAX_LENGTH or text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    out: list[str] = []
    depth, opened = 0, False
    for part in _TOKEN.findall(text):
        if part in "]}":
            depth -= 1
            out.append(part if opened else "\n" + "  " * depth + part)
        else:
            if opened:
                out.append("\n" + "  " * depth)
            out.append(part)
        opened = part in "[{"
        if opened:
            depth += 1
            if depth > MAX_DEPTH:
                return None
        elif part == ",":
            out.append("\n" + "  " * depth)
        elif part == ":":
            out.append(" ")
    return "".join(out)
