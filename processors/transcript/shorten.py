"""Making written transcript text shorter: in the middle, stated, still one space before every recorded line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tracejury.schemas.transcript import cut_notice

from .lines import HEAD

_SPARED: Final = 200  # characters that a cut moves to stand at the end of a line


def shorten(text: str, limit: int, head: float = HEAD) -> str:
    """`text` (lines of a transcript) with its middle left out beyond `limit` characters."""
    room = limit - len(cut_notice(len(text))) - 2
    if len(text) <= limit or room <= 0:
        return text
    first = _line_end(text, int(room * head))
    last = _line_start(text, len(text) - (room - first))
    begin, tail = text[:first], text[last:]
    if not begin.endswith("\n"):
        begin += "\n"
    if text[last - 1] != "\n":
        tail = " " + tail
    return f"{begin}{cut_notice(last - first)}\n{tail}"


def pieces(text: str, size: int) -> Iterator[str]:
    """`text` (lines of a transcript) in consecutive parts of at most about `size` characters, at line ends if near."""
    at = 0
    while at < len(text):
        end = min(len(text), at + size)
        if end < len(text):
            end = max(_line_end(text, end), at + 1)
        inside = at > 0 and text[at - 1] != "\n"
        part = (" " if inside else "") + text[at:end]
        yield part if part.endswith("\n") else part + "\n"
        at = end


def _line_end(text: str, at: int) -> int:
    end = text.rfind("\n", max(0, at - _SPARED), at) + 1
    return end if end > 0 else at


def _line_start(text: str, at: int) -> int:
    start = text.find("\n", at - 1, at + _SPARED) + 1
    return start if start > 0 else at
