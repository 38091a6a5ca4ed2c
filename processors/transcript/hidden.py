"""Passages that were cut out of results and messages, until a later step's words need them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from tracejury.schemas.shown import shown

from .lines import halves, recorded

_WORD: Final = re.compile(r"\d[\d.,:/-]*\d|[^\W\d_][\w-]{3,}")
_END: Final = re.compile(r"[.!?;|}\]] |\\n")

_LEAST: Final = 16  # characters of a passage that says something
_SHORT: Final = 120  # characters up to which neighbouring lines make one passage
_LONG: Final = 240  # characters of a passage cut out of a longer line
_READ: Final = 16_000  # characters of one cut that are kept
_KEPT: Final = 1_000_000  # characters of texts kept at a time
_COMMON: Final = 6  # passages from which a word tells nothing
_RARE: Final = 2
_TELLING: Final = 2.0  # of a figure or name; other words count 1
_ENOUGH: Final = 2.0  # a rare figure or name that is shared, or two rare words
_WORDS: Final = 8_000  # characters of a step's own words in which figures and names are looked for
_ROOM: Final = 1_000  # characters of excerpts at one step


@dataclass(frozen=True, slots=True)
class _Passage:
    place: str
    text: str


class HiddenPassages:
    """Cut passages by the words that tell them apart: figures, names, and other words that few passages have.

    Reading and asking cost time linear in the text; what is kept and what is given are bounded.
    """

    __slots__ = ("_by_word", "_given", "_passages", "_shown", "_size", "_uncounted")

    def __init__(self) -> None:
        self._passages: list[_Passage] = []
        self._by_word: dict[str, list[int]] = {}
        self._uncounted: list[str] = []
        self._shown: Counter[str] = Counter()
        self._given: set[str] = set()
        self._size = 0

    def read(self, place: str, text: str, limit: int, head: float) -> None:
        """Note the text at `place`, of which the middle is cut beyond `limit` characters."""
        begin, missing, end = halves(text, limit, head)
        cut = [text[len(begin) : len(begin) + min(missing, _READ)]] if missing else []
        self.note(place, [begin, end], cut)

    def note(self, place: str, kept: Iterable[str], cut: Iterable[str]) -> None:
        """Note which parts of the text at `place` are shown and which are cut."""
        if self._size > _KEPT:
            self._forget()
        for part in kept:
            self._show(part)
        for part in cut:
            self._hide(place, part)

    def _show(self, text: str) -> None:
        """Have the words of what is shown counted before the next excerpts: those that share them are needed less."""
        self._uncounted.append(text[:_READ])
        self._size += min(len(text), _READ)

    def _hide(self, place: str, text: str) -> None:
        """Keep what is cut."""
        self._size += len(text)
        for passage in _passages(shown(text)):
            number = len(self._passages)
            self._passages.append(_Passage(place, passage))
            for word in _words(passage):
                numbers = self._by_word.get(word)
                if numbers is None:
                    self._by_word[word] = [number]
                elif len(numbers) <= _COMMON:
                    numbers.append(number)

    def _forget(self) -> None:
        """Begin anew, so that what is kept stays bounded."""
        self._passages, self._uncounted, self._by_word, self._size = [], [], {}, 0
        self._shown.clear()

    def excerpts(self, said: Iterable[str]) -> list[str]:
        """Lines with the passages that share rare figures, names or words with what a step said, each given once."""
        if not self._passages:
            return []
        for text in self._uncounted:
            self._shown.update(dict.fromkeys(_words(text), _RARE))
        self._uncounted.clear()
        words = _words("\n".join(text[:_WORDS] for text in said))
        shared: dict[int, float] = {}
        for word, weight in words.items():
            numbers = self._by_word.get(word, ())
            often = self._shown[word] + len(numbers)
            if often <= _COMMON:
                for number in numbers:
                    shared[number] = shared.get(number, 0.0) + weight / (1 if often <= _RARE else 2)
        best = sorted((n for n in shared if shared[n] >= _ENOUGH), key=lambda n: (-shared[n], n))
        return list(self._told(sorted(self._fitting(best))))

    def _fitting(self, numbers: Iterable[int]) -> Iterator[int]:
        room = _ROOM
        for number in numbers:
            text = self._passages[number].text
            if text not in self._given and len(text) <= room:
                room -= len(text)
                self._given.add(text)
                yield number

    def _told(self, numbers: Iterable[int]) -> Iterator[str]:
        place = ""
        for number in numbers:
            passage = self._passages[number]
            if passage.place != place:
                place = passage.place
                yield f"excerpt of {place}, cut there:"
            yield recorded(passage.text)


def _words(text: str) -> dict[str, float]:
    """Figures, names and longer words, with what one that is shared counts."""
    found: dict[str, float] = {}
    for word in set(_WORD.findall(text)):
        if word[0].isdigit():
            found[word.replace(",", "")] = _TELLING
        elif word[0].isupper():
            found[word.casefold()] = _TELLING
        else:
            found.setdefault(word.casefold(), 1.0)
    return found


def _passages(text: str) -> Iterator[str]:
    """A text in consecutive passages: lines, short ones joined, long ones divided at the ends of sentences."""
    joined: list[str] = []
    size = 0
    for line in text.split("\n"):
        if joined and size + len(line) > _SHORT:
            yield from _told_passage(joined)
            joined, size = [], 0
        if len(line) > _LONG:
            yield from _divided(line)
        else:
            joined.append(line)
            size += len(line) + 1
    yield from _told_passage(joined)


def _told_passage(lines: list[str]) -> Iterator[str]:
    text = "\n".join(line for line in lines if line.strip())
    if len(text) >= _LEAST:
        yield text


def _divided(line: str) -> Iterator[str]:
    at = 0
    while len(line) - at > _LONG:
        least, most = at + _LONG // 2, at + _LONG
        ends = [found.end() for found in _END.finditer(line, least, most)]
        end = ends[-1] if ends else line.rfind(" ", least, most)
        end = end if end > 0 else most
        yield line[at:end].strip()
        at = end
    if line[at:].strip():
        yield line[at:].strip()
