"""A quote as the record has it: judges drop our indentation and cuts, fold white space, escape what needs no escape."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from ...schemas.shown import folded
from ..evidence import MAX_EVIDENCE, OwnText

_CUT: Final = re.compile(r"\[(?:…|\.\.\.)[^\[\]\n]{0,60}(?:…|\.\.\.)\]|\[?(?:…|\.\.\.)\]?")
"""Where something was left out: our own notice of a cut, or an ellipsis."""

_LEAST: Final = 8
"""Characters that the longest part of a quote with gaps must have: shorter ones stand anywhere by chance."""

_PARTS: Final = 20
"""Parts of a quote that are looked at."""

_KEY: Final = re.compile(r"[\w.\-]{1,60}: +(?=\S)")
"""What a transcript puts in front of a recorded text: the name of an argument, the type of an exception."""

_ESCAPES: Final = {r"\n": "\n", r"\t": "\t", r"\"": '"', r"\'": "'", r"\\": "\\"}
_ESCAPED: Final = re.compile(r"\\[nt\"'\\]")


def standing(own: OwnText, span_id: str, quote: str) -> str:
    """The quote as the span's own text has it; "" where it does not stand there.

    Letter by letter; else as it is shown, but for white space and case; else, where the quote has gaps or several
    lines, all its parts, of which the longest is given.
    """
    if own.verbatim(span_id, quote):
        return quote[:MAX_EVIDENCE]
    for form in _forms(quote):
        found = _whole(own, span_id, form) or _gapped(own, span_id, form) or _lines(own, span_id, form)
        if found:
            return found
    return ""


def _forms(quote: str) -> Iterator[str]:
    yield quote
    if "\\" in quote:
        yield _ESCAPED.sub(lambda match: _ESCAPES[match[0]], quote)


def _whole(own: OwnText, span_id: str, quote: str) -> str:
    wanted = folded(quote)
    return next((found for text in own.texts(span_id) if (found := text.find(wanted, MAX_EVIDENCE))), "")


def _gapped(own: OwnText, span_id: str, quote: str) -> str:
    """Parts with gaps between them, in this order in one piece of text."""
    parts = [part for part in map(folded, _CUT.split(quote)[:_PARTS]) if part]
    longest = max(parts, key=len, default="")
    if parts == [folded(quote)] or len(longest) < _LEAST:
        return ""
    for text in own.texts(span_id):
        places = _in_order(text.text, parts)
        if places and (found := text.slice(places[parts.index(longest)], longest, MAX_EVIDENCE)):
            return found
    return ""


def _in_order(text: str, parts: Sequence[str]) -> list[int]:
    places: list[int] = []
    end = 0
    for part in parts:
        at = text.find(part, end)
        if at < 0:
            return []
        places.append(at)
        end = at + len(part)
    return places


def _lines(own: OwnText, span_id: str, quote: str) -> str:
    """Lines that stand in several pieces of the text, or behind the name of what they are the value of."""
    lines = [line.strip() for line in quote.split("\n") if line.strip()][:_PARTS]
    found: list[str] = []
    for line in lines:
        bare = _KEY.sub("", line, count=1) if _KEY.match(line) else ""
        if len(lines) == 1 and not bare:
            return ""
        piece = _whole(own, span_id, line) if len(lines) > 1 else ""
        piece = piece or (_whole(own, span_id, bare) if bare else "")
        if not piece:
            return ""
        found.append(piece)
    longest = max(found, key=len, default="")
    return longest if len(longest) >= _LEAST else ""
