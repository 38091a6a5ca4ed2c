"""Texts of many similar items (search hits, rows, objects): each keeps its beginning when the text is cut."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from tracejury.schemas.transcript import cut_notice

from .condense import ENDS, level
from .lines import recorded

_OPENING: Final = re.compile(
    r"(?:^|\n|\\n|(?<=\[)(?=\{)|(?<=\}), ?(?=\{))"
    r"([ \t]{0,12}(?:[-*\u2022\u2013] |#{1,6} |[\[(]?\d{1,3}[\].):]|\{|[A-Za-z][\w -]{0,24}:(?!//)))"
)
"""How an item may begin: a bullet, heading, number, brace or named field, at the start of a line or of an object."""

_DIGITS: Final = re.compile(r"\d+")
_LEAST_ITEMS: Final = 4
_PREFACE: Final = 0.4  # of the text before the first item, at most
_LARGEST: Final = 0.4  # of the text in one item, at most: else the items are not what it is made of
_LEAST_SHARE: Final = 80  # characters that an item keeps; where there is less, the middle of the text goes
_SPARED: Final = 30
_FIRST: Final = 2  # how much longer the text before the items may be


def shortened_items(text: str, limit: int) -> tuple[str, list[str], list[str]] | None:
    """A text of similar items in about `limit` characters, as recorded lines; what it keeps of them, and what it cuts.

    None where the text is not made of items, or of too many. Items are told by how they begin.
    """
    begins = _begins(text)
    if not begins:
        return None
    items = [text[a:b].rstrip() for a, b in zip([0, *begins], [*begins, len(text)], strict=True) if a < b]
    weights = [_FIRST if begins[0] and not i else 1 for i in range(len(items))]
    share = level([len(item) + len(ENDS) for item in items], limit, weights)
    if share < _LEAST_SHARE:
        return None
    kept = [_beginning(item, share * weight) for item, weight in zip(items, weights, strict=True)]
    cut = [item[len(begin) :] for item, begin in zip(items, kept, strict=True)]
    lines = [recorded(begin) + (ENDS if rest else "") for begin, rest in zip(kept, cut, strict=True)]
    return "\n".join((*lines, cut_notice(sum(map(len, cut)), "ends of items"))), kept, [rest for rest in cut if rest]


def _begins(text: str) -> Sequence[int]:
    """Where the items begin, whose opening is the first of those by which the text divides evenly."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for match in _OPENING.finditer(text):
        found[_DIGITS.sub("0", match[1].rstrip().casefold())].append(match.start(1))
    for begins in found.values():
        sizes = [b - a for a, b in zip(begins, [*begins[1:], len(text)], strict=True)]
        if len(begins) >= _LEAST_ITEMS and begins[0] <= _PREFACE * len(text) and max(sizes) <= _LARGEST * len(text):
            return begins
    return ()


def _beginning(item: str, most: int) -> str:
    if len(item) <= most:
        return item
    at = max(item.rfind(mark, most - _SPARED, most) for mark in " \n")
    at = at if at > 0 else most
    line = item.rfind("\n", 0, at)
    return item[: line if line > 0 and at - line < _SPARED else at].rstrip()
