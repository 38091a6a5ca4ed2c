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

_WORD: Final = re.compile(r"[\S\x1f]+")
"""What `folded` keeps together; unit separators are invisible to it, not white."""

_LONGEST_WORD: Final = 4096
"""Characters of a word in which the beginning of a quote is looked for where folding changes lengths."""


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
    if not wanted:
        return ""
    for raw, text in own.texts(span_id):
        at = text.find(wanted)
        if at >= 0 and (found := sliced(raw, at, wanted)):
            return found
    return ""


def _gapped(own: OwnText, span_id: str, quote: str) -> str:
    """Parts with gaps between them, in this order in one piece of text."""
    parts = [part for part in map(folded, _CUT.split(quote)[:_PARTS]) if part]
    longest = max(parts, key=len, default="")
    if parts == [folded(quote)] or len(longest) < _LEAST:
        return ""
    for raw, text in own.texts(span_id):
        places = _in_order(text, parts)
        if places and (found := sliced(raw, places[parts.index(longest)], longest)):
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


def sliced(raw: str, at: int, wanted: str) -> str:
    """The slice of `raw` whose folded form is `wanted`, which stands at `at` in folded `raw`; "" if it is too long."""
    end = at + len(wanted)
    first = last = -1
    offset = 0
    for word in _WORD.finditer(raw):
        text = word[0]
        length = len(text) if _same_length(text) else len(folded(text))
        if not length:
            continue
        stop = offset + length
        if first < 0 and stop > at:
            first = word.start() + _prefix(text, at - offset)
        if stop >= end:
            last = word.start() + _prefix(text, end - offset, reaching=True)
            break
        offset = stop + 1
    found = raw[first:last] if 0 <= first < last else ""
    return found if len(found) <= MAX_EVIDENCE and wanted in folded(found) else ""


def _same_length(word: str) -> bool:
    return word.isascii() and word.isprintable() and "|" not in word


def _prefix(word: str, length: int, *, reaching: bool = False) -> int:
    """Length of the longest prefix of `word` that folds to at most `length`, or the shortest that reaches it."""
    if length <= 0:
        return 0
    if _same_length(word):
        return min(length, len(word))
    if len(word) > _LONGEST_WORD:
        return len(word) if reaching else 0
    low, high = 0, len(word)
    while low < high:
        middle = (low + high) // 2 if reaching else (low + high + 1) // 2
        size = len(folded(word[:middle]))
        if reaching:
            low, high = (low, middle) if size >= length else (middle + 1, high)
        else:
            low, high = (middle, high) if size <= length else (low, middle - 1)
    return low
