"""Parts of a step's text: what stands around places in it, between notices of what is cut."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tracejury.judges.checks.markup import Unmarked
from tracejury.schemas.shown import shown
from tracejury.schemas.transcript import cut_notice

MOST_SEARCHED: Final = 200_000
"""Characters of a text that are searched letter by letter for a quote that does not stand in it as it is."""

_SNAP: Final = 200  # characters by which a part grows to end with its line
_GAP: Final = 200  # two parts with less between them are one


def places_of(text: str, quote: str) -> tuple[int, ...]:
    """The offsets at which the quote begins first and last; of its longest line, or letters, where it has other breaks.

    Of words that stand in a step's input and in what it wrote, the last are what it wrote. (0,) where they stand
    nowhere: what a step shows first tells most of it.
    """
    quote = shown(quote).strip()
    line = max((line.strip() for line in quote.split("\n")), key=len, default="")
    for wanted in (quote, line):
        if wanted and (at := text.find(wanted)) >= 0:
            return tuple(dict.fromkeys((at, text.rfind(wanted))))
    found = Unmarked(text[:MOST_SEARCHED]).find(quote) if quote else ""
    return (max(0, text.find(found)),) if found else (0,)


def excerpt(text: str, places: Iterable[int], most: int) -> str:
    """The text around the places, at most about `most` characters for each; its first line stands in any case.

    That line, the label of a step, is ours; what follows is recorded and stays indented, where it is cut as well.
    """
    if len(text) <= most:
        return text
    head = text.find("\n") + 1
    parts = _joined(sorted(_around(text, head, place, most) for place in places))
    # A notice of a cut would be about as long as the few characters that it stands for.
    if parts and parts[0][0] - head <= _GAP:
        parts[0] = (head, parts[0][1])
    if parts and len(text) - parts[-1][1] <= _GAP:
        parts[-1] = (parts[-1][0], len(text))
    lines = [text[:head].rstrip("\n")] if head else []
    last = head
    for begin, end in parts:
        if begin > last:
            lines.append(cut_notice(begin - last))
        part = text[begin:end].rstrip("\n")
        lines.append(part if begin == head or text[begin - 1] == "\n" else f" {part}")
        last = end
    if last < len(text.rstrip("\n")):
        lines.append(cut_notice(len(text) - last))
    return "\n".join(lines) + "\n"


def _around(text: str, head: int, place: int, most: int) -> tuple[int, int]:
    """The part of `most` characters around the place, from and to ends of lines where some are near."""
    begin = max(head, min(place - most // 2, len(text) - most))
    line = text.rfind("\n", max(head - 1, begin - _SNAP), begin) + 1
    begin = line if line > head else begin if begin > head + _SNAP else head
    end = min(len(text), begin + most)
    line = text.find("\n", end, end + _SNAP)
    return begin, line + 1 if line >= 0 else end


def _joined(parts: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for begin, end in parts:
        if joined and begin <= joined[-1][1] + _GAP:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((begin, end))
    return joined
