"""Passages of a step's text: around some words, or with its middle cut. Recorded lines stay indented."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import Final

from tracejury.schemas.transcript import cut_notice

_AROUND: Final = 600
"""Characters that a passage has on either side of the words."""
_MOST: Final = 6
"""Passages of one step."""


def passages(text: str, words: str, known: Collection[str] = ()) -> str:
    """A step's first line and its text around each occurrence of the words, the rest cut; "" where there is none.

    Case and white space do not count. Occurrences in lines that are `known` are passed over.
    """
    spans = [(0, text.find("\n") + 1 or len(text))]
    matches = list(islice(_unknown(text, _wanted(words), known), _MOST))
    for match in matches:
        begin, end = max(match.start() - _AROUND, 0), min(match.end() + _AROUND, len(text))
        if begin <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((begin, end))
    return "".join(_cut(text, spans)) if matches else ""


def occurs(text: str, words: str) -> bool:
    """Whether the words occur in the text, as `passages` looks for them."""
    return _wanted(words).search(text) is not None


def _wanted(words: str) -> re.Pattern[str]:
    return re.compile(r"\s+".join(map(re.escape, words.split())), re.IGNORECASE)


def _unknown(text: str, wanted: re.Pattern[str], known: Collection[str]) -> Iterator[re.Match[str]]:
    end, new = 0, False
    for match in wanted.finditer(text):
        if match.end() > end:  # else it is in the lines of the match before
            begin = text.rfind("\n", 0, match.start()) + 1
            after = text.find("\n", match.end())
            end = len(text) if after < 0 else after
            new = not all(line in known for line in text[begin:end].split("\n"))
        if new:
            yield match


def shortened(text: str, length: int) -> str:
    """The text, cut in the middle beyond `length` characters."""
    half = length // 2
    return text if len(text) <= length else "".join(_cut(text, [(0, half), (len(text) - half, len(text))]))


def shares(lengths: Sequence[int], room: int) -> list[int]:
    """The part of the room for each: all that it needs where it is short, an equal share of the rest where long."""
    given = [0] * len(lengths)
    for rank, at in enumerate(sorted(range(len(lengths)), key=lambda i: lengths[i])):
        given[at] = min(lengths[at], room // (len(lengths) - rank))
        room -= given[at]
    return given


def _cut(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[str]:
    """These spans, with a line of ours for each gap."""
    at = 0
    for begin, end in spans:
        if begin > at:
            yield f"{cut_notice(begin - at)}\n"
        part = text[begin:end]
        inside = begin > 0 and text[begin - 1] != "\n"
        yield (" " if inside else "") + part + ("" if part.endswith("\n") else "\n")
        at = end
    if at < len(text):
        yield f"{cut_notice(len(text) - at)}\n"
