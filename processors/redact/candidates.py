"""The texts of a request in which a pattern may match: many are searched at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Final

from .patterns import Range, Scanner

BETWEEN: Final = b"\n\n"
"""Between texts that are searched at once: it begins and ends words, and few patterns match across it."""
CHUNK: Final = 1 << 17
"""Characters that are searched at once: what fits the nearer caches takes a fifth less time than eight times that."""
Candidates = dict[str, list[Range] | None]
"""Texts in which a pattern may match, and the places in bytes of their UTF-8 where; None: anywhere."""


def candidates(scanner: Scanner, texts: Iterable[str]) -> Candidates:
    """Those of the texts in which a pattern may match."""
    found: Candidates = {}
    for chunk in _chunks(texts):
        _search(scanner, chunk, found)
    return found


def _search(scanner: Scanner, texts: Sequence[str], found: Candidates) -> None:
    """Add those in which a pattern may match to `found`."""
    encoded = [text.encode(errors="replace") for text in texts]
    places = scanner.suspects(BETWEEN.join(encoded))
    if places is None:
        found.update(dict.fromkeys(texts))
        return
    starts = [0, *accumulate(len(data) + len(BETWEEN) for data in encoded)]
    for start, end in places:
        first, last = bisect_right(starts, start) - 1, bisect_right(starts, end - 1) - 1
        if first < last and start >= starts[first + 1] - len(BETWEEN):  # what follows is what it found
            first += 1
        if first < last:  # by themselves they may match elsewhere
            found.update(dict.fromkeys(texts[first : last + 1]))
        elif (within := found.setdefault(texts[first], [])) is not None:
            within.append((max(start - starts[first], 0), end - starts[first]))


def _chunks(texts: Iterable[str]) -> Iterator[list[str]]:
    """The texts in lists of about so many characters that they can be joined."""
    chunk: list[str] = []
    size = 0
    for text in texts:
        chunk.append(text)
        size += len(text)
        if size > CHUNK:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk
