"""Lines of a transcript: our own start in column one, recorded ones with a space, whatever they hold."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from tracejury.schemas.normalized import Json
from tracejury.schemas.shown import shown, shown_line
from tracejury.schemas.text.media_marks import without_base64
from tracejury.schemas.transcript import cut_notice

HEAD: Final = 0.6
"""Of a text that is cut in the middle, the share that is kept from its beginning."""

_SLACK: Final = 60  # a cut that spares less than its own notice takes is none
_SPARED: Final = 40  # how far a cut moves to spare a word


def recorded(text: str) -> str:
    """Recorded text (already `shown`), every line of it indented by one space."""
    return "\n".join([f" {line}" for line in text.rstrip().split("\n")])


def block(text: str, limit: int, head: float = HEAD) -> str:
    """Recorded text as a transcript shows it: shown, indented, cut in the middle beyond `limit` characters.

    Cost is bounded by `limit`, however long the text, but for a look for base64, of which no part is shown.
    """
    begin, missing, end = halves(without_base64(text), limit, head)
    return _joined(shown(begin), missing, shown(end))


def cut(text: str, limit: int, head: float = HEAD) -> str:
    """`block` for text that is `shown` already."""
    return _joined(*halves(text, limit, head))


def _joined(begin: str, missing: int, end: str) -> str:
    if not missing:
        return recorded(begin)
    parts = [recorded(begin) if begin else "", cut_notice(missing), recorded(end) if end else ""]
    return "\n".join(part for part in parts if part)


def halves(text: str, limit: int, head: float = HEAD) -> tuple[str, int, str]:
    """Beginning, number of characters left out, end: at words where some stand near."""
    if len(text) <= limit + _SLACK:
        return text, 0, ""
    first = int(limit * head)
    last = len(text) - (limit - first)
    space = max(text.rfind(mark, max(0, first - _SPARED), first) for mark in " \n")
    first = space if space > 0 else first
    space = min((at for mark in " \n" if (at := text.find(mark, last, last + _SPARED)) >= 0), default=-1)
    last = space + 1 if space >= 0 else last
    return text[:first], last - first, text[last:]


def inline(text: str, limit: int) -> str:
    """Recorded text within a line of our own: shown, on one line, cut at its end."""
    return shown_line(text, limit)


def name(text: str, limit: int = 80) -> str:
    """A recorded name within a line of our own; in quotes where it could be taken for more than a name."""
    line = inline(text, limit)
    return line if line and all(c.isalnum() or c in "_-./:" for c in line) else json.dumps(line, ensure_ascii=False)


def json_line(value: Json) -> str:
    """A JSON value as text: strings as they are, the rest as one line of JSON, as the evidence gate reads it."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (RecursionError, ValueError):
        return "[nested too deeply]"


def arguments_block(value: Json, limit: int) -> str:
    """A call's arguments as recorded lines."""
    return block(arguments_text(value), limit)


def arguments_text(value: Json) -> str:
    """A call's arguments: one line of JSON; where some are long texts an argument a line, long ones below their name.

    Every line of it can be quoted: it stands in the call as recorded.
    """
    if isinstance(value, Mapping) and any(_is_long(v) for v in value.values()):
        return "\n".join(f"{key}:\n{v}" if _is_long(v) else f"{key}: {json_line(v)}" for key, v in value.items())
    return json_line(value)


def _is_long(value: object) -> bool:
    return isinstance(value, str) and ("\n" in value or len(value) > _LONG)


_LONG: Final = 160
