"""Text folded for tolerant comparison, with the way back to how it was written."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass
from typing import Final

from tracejury.schemas.shown import folded

_SPACE: Final = re.compile(r"[^\S\x1f]")
_WORD: Final = re.compile(r"[\S\x1f]+")
"""A run of characters that folds by itself; unit separators are invisible to `folded`, not white."""

_CHUNK: Final = 8192
"""Characters after which a place in the text is noted; the next white space ends a chunk."""

_LONGEST_WORD: Final = 4096
"""Characters of a word in which a place is looked for although folding changes its length."""


@dataclass(frozen=True, slots=True)
class Folded:
    """A text as it is and folded. `marks`: (offset in `raw`, offset in `text`) of its chunks, ascending."""

    raw: str
    text: str
    marks: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, raw: str) -> Folded:
        """Fold a text, chunk by chunk."""
        marks: list[tuple[int, int]] = []
        parts: list[str] = []
        start = offset = 0
        while start < len(raw):
            space = _SPACE.search(raw, start + _CHUNK)
            end = space.start() if space else len(raw)
            part = folded(raw[start:end])
            if part:
                marks.append((start, offset))
                parts.append(part)
                offset += len(part) + 1
            start = end
        return cls(raw, " ".join(parts), tuple(marks))

    def find(self, wanted: str, most: int) -> str:
        """The slice of `raw` that says `wanted` (folded); "" where there is none, or none of at most `most` characters.

        It may say more where letters fold to several, or invisible ones stand between.
        """
        at = self.text.find(wanted) if wanted else -1
        return self.slice(at, wanted, most) if at >= 0 else ""

    def slice(self, at: int, wanted: str, most: int) -> str:
        """`find` for `wanted` at offset `at` of `text`."""
        end = at + len(wanted)
        begin, offset = self.marks[max(0, bisect_right(self.marks, at, key=lambda mark: mark[1]) - 1)]
        first: tuple[int, int] | None = None
        for match in _WORD.finditer(self.raw, begin):
            word = match[0]
            length = len(word) if _plain(word) else _length(word)
            if length is None or (first and match.start() - first[0] > most):
                return ""
            stop = offset + length
            if not length:
                continue
            if first is None and stop > at:
                first = (match.start() + _fitting(word, at - offset), match.start())
            if first and stop >= end:
                exact = self.raw[first[0] : match.start() + _reaching(word, end - offset)]
                # What hides in a word may not be said in part.
                found = exact if wanted in folded(exact) else self.raw[first[1] : match.end()]
                return found if len(found) <= most and wanted in folded(found) else ""
            offset = stop + 1
        return ""


def _plain(word: str) -> bool:
    """Whether the word folds letter by letter, by a cheap test."""
    if "|" in word or not word.isprintable():
        return False
    return word.isascii() or (unicodedata.is_normalized("NFC", word) and len(word.casefold()) == len(word))


def _length(word: str) -> int | None:
    return len(folded(word)) if len(word) <= _LONGEST_WORD else None


def _fitting(word: str, length: int) -> int:
    """Length of the longest prefix that folds to at most `length`."""
    if _plain(word) or length <= 0:
        return max(0, length)
    return bisect_right(range(len(word)), length, key=lambda size: len(folded(word[: size + 1])))


def _reaching(word: str, length: int) -> int:
    """Length of the shortest prefix that folds to at least `length`, of what is invisible behind it none."""
    if _plain(word):
        return min(length, len(word))
    return 1 + bisect_right(range(len(word)), length - 1, key=lambda size: len(folded(word[: size + 1])))
