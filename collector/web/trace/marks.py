"""Text with the quotes in it marked, cut to what a page can show.

A quote is found as the evidence gate finds it: letter by letter, else as text is shown, white space folded and case
dropped. What is cut keeps its head and the surroundings of every mark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from tracejury.judges.folding import Folded
from tracejury.schemas.shown import folded
from tracejury.schemas.text.terminal import safe

MAX_SHOWN: Final = 6_000
"""Characters of one text that are shown before it is cut."""

MAX_LINES: Final = 300
AROUND: Final = 300
"""Characters shown on either side of a mark beyond the cut."""

MAX_MARKS: Final = 50
"""Quotes marked in one text."""

_FOLDED: Final = 1_000_000
"""Characters up to which a text is folded to find a quote in it: more would take too long for a page."""

_LONGEST: Final = 4_000
"""Characters that a folded quote may have as it is written."""


@dataclass(frozen=True, slots=True)
class Quote:
    """The evidence of a finding."""

    finding_id: str
    text: str


@dataclass(frozen=True, slots=True)
class QuoteMark:
    """The range of a quote in a text; `end` exclusive."""

    start: int
    end: int
    finding_id: str


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text, safe to show. `finding_ids`: those that quote it; `left_out`: characters cut here instead."""

    text: str
    finding_ids: tuple[str, ...] = ()
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Shown:
    """A text as a page shows it. `length`: of all of it, in characters."""

    pieces: tuple[Piece, ...]
    length: int
    cut: bool

    @property
    def marked(self) -> bool:
        """Whether a quote stands in it."""
        return any(piece.finding_ids for piece in self.pieces)


def find_exact(text: str, quotes: Iterable[Quote]) -> list[QuoteMark]:
    """Exact matches of quotes, each at its first place."""
    found = ((quote, text.find(quote.text)) for quote in quotes if quote.text)
    return [QuoteMark(at, at + len(quote.text), quote.finding_id) for quote, at in found if at >= 0]


def find_folded(text: str, quotes: Sequence[Quote]) -> list[QuoteMark]:
    """Matches of quotes that ignore white space, case and invisible characters; none in a text that is too long."""
    if not quotes or not text or len(text) > _FOLDED:
        return []
    shown = Folded.of(text)
    marks = []
    for quote in quotes:
        written = shown.find(folded(quote.text), _LONGEST)
        at = text.find(written) if written else -1
        if at >= 0:
            marks.append(QuoteMark(at, at + len(written), quote.finding_id))
    return marks


def show(text: str, marks: Sequence[QuoteMark] = (), limit: int = MAX_SHOWN) -> Shown:
    """The text in pieces: its first `limit` characters, and what stands around marks behind them."""
    marks = sorted(marks, key=lambda p: (p.start, p.end))[:MAX_MARKS]
    kept = _kept(text, marks, limit)
    pieces: list[Piece] = []
    at = 0
    for start, end in kept:
        if start > at:
            pieces.append(Piece("", left_out=start - at))
        pieces.extend(_marked(text, start, end, marks))
        at = end
    if at < len(text):
        pieces.append(Piece("", left_out=len(text) - at))
    return Shown(tuple(pieces), len(text), cut=any(piece.left_out for piece in pieces))


def _kept(text: str, marks: Sequence[QuoteMark], limit: int) -> list[tuple[int, int]]:
    """The stretches that are shown, in order, apart from each other."""
    head = _lines(text, limit)
    kept = [(0, head)]
    for place in marks:
        start, end = max(place.start - AROUND, 0), min(place.end + AROUND, len(text))
        last = kept[-1]
        if place.end <= last[1]:
            continue
        if start <= last[1]:
            kept[-1] = (last[0], end)
        else:
            kept.append((start, end))
    return kept


_LINE: Final = re.compile(r"\r\n|\r|\n")


def _lines(text: str, limit: int) -> int:
    """Length of the head that has at most `limit` characters and `MAX_LINES` lines."""
    limit = min(len(text), limit)
    for number, match in enumerate(_LINE.finditer(text, 0, limit), 1):
        if number == MAX_LINES:
            return match.start()
    return limit


def _marked(text: str, start: int, end: int, marks: Sequence[QuoteMark]) -> list[Piece]:
    """The stretch in pieces of which each lies wholly in or out of every mark."""
    here = [p for p in marks if p.start < end and p.end > start]
    edges = sorted({start, end, *(e for p in here for e in (p.start, p.end) if start < e < end)})
    return [
        Piece(safe(_lone(text[a:b])), tuple(dict.fromkeys(p.finding_id for p in here if p.start <= a and b <= p.end)))
        for a, b in pairwise(edges)
    ]


def _lone(text: str) -> str:
    """Line ends as one character: a carriage return would show as an escape."""
    return _LINE.sub("\n", text) if "\r" in text else text
