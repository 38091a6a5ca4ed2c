"""A quote as the record has it: judges drop our indentation and cuts, fold white space, escape what needs no escape."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tracejury.judges.evidence import MAX_EVIDENCE, OwnText
from tracejury.judges.folding import Folded
from tracejury.schemas.shown import folded

_CUT: Final = re.compile(r"\[(?:…|\.\.\.)[^\[\]\n]{0,60}(?:…|\.\.\.)\]|\[?(?:…|\.\.\.)\]?")
"""Where something was left out: our own notice of a cut, or an ellipsis."""

_LEAST: Final = 8
"""Characters that the longest part of a quote with gaps must have: shorter ones stand anywhere by chance."""

_PARTS: Final = 20
"""Parts of a quote that are looked at."""

_KEY: Final = re.compile(r"^[\w.\-]{1,60}: +(?=\S)")
"""Texts that a transcript puts in front of a recorded text: the name of an argument, the type of an exception."""

_UNSTORABLE: Final = re.compile("[\ud800-\udfff]+")
"""Lone surrogates, which JSON in a trace may have escaped: invisible when shown, and no store takes them."""

_ESCAPES: Final = {r"\n": "\n", r"\t": "\t", r"\"": '"', r"\'": "'", r"\\": "\\"}
_ESCAPED: Final = re.compile(r"\\[nt\"'\\]")


def standing(own: OwnText, span_id: str, quote: str) -> str:
    """The quote as the span's own text has it; "" where it does not stand there.

    Letter by letter; else as it is shown, but for white space and case; else, where the quote has gaps or several
    lines, all its parts, of which the longest is given. Of arguments that were sent in another form than they are shown
    in, a text among them, or the tool's name. It can always be stored.
    """
    if own.as_sent(span_id, quote):
        return quote[:MAX_EVIDENCE]
    made = own.made(span_id)
    texts = [text for text in own.texts(span_id) if text.raw not in made]
    for form in _forms(quote):
        if found := _piece(texts, made, form) or _gapped(texts, form) or _lines(texts, made, form):
            return max(_UNSTORABLE.split(found), key=len).strip()
    return ""


def _forms(quote: str) -> Iterator[str]:
    yield quote
    if "\\" in quote:
        yield _ESCAPED.sub(lambda match: _ESCAPES[match[0]], quote)


def _whole(texts: Sequence[Folded], quote: str) -> str:
    wanted = folded(quote)
    return next((found for text in texts if (found := text.find(wanted, MAX_EVIDENCE))), "")


def _gapped(texts: Sequence[Folded], quote: str) -> str:
    """Parts with gaps between them, in this order in one piece of text."""
    parts = [part for part in map(folded, _CUT.split(quote)[:_PARTS]) if part]
    longest = max(parts, key=len, default="")
    if parts == [folded(quote)] or len(longest) < _LEAST:
        return ""
    for text in texts:
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


def _lines(texts: Sequence[Folded], made: Mapping[str, str], quote: str) -> str:
    """Several lines, each of which stands in some piece of the text."""
    lines = [line for line in quote.split("\n") if line.strip()][:_PARTS]
    found = [_piece(texts, made, line) for line in lines] if len(lines) > 1 else []
    longest = max(found, key=len, default="")
    return longest if all(found) and len(longest) >= _LEAST else ""


def _piece(texts: Sequence[Folded], made: Mapping[str, str], quote: str) -> str:
    """The quote as it is, without the name of what it is the value of, or as part of arguments."""
    if found := _whole(texts, quote):
        return found
    bare = _KEY.sub("", quote.lstrip(), count=1)
    return (_whole(texts, bare) if _LEAST <= len(bare) < len(quote) else "") or _argument(texts, made, quote)


def _argument(texts: Sequence[Folded], made: Mapping[str, str], quote: str) -> str:
    """For a quote from arguments as we write them: the longest text in it that was sent, else the tool's name."""
    wanted = folded(quote)
    name = next((name for text, name in made.items() if wanted and wanted in folded(text)), "")
    parts = sorted((part for part in quote.split('"') if any(map(str.isalnum, part))), key=len, reverse=True)
    return next((found for part in [*parts[:_PARTS], name] if name and (found := _whole(texts, part))), "")
