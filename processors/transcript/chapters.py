"""A transcript that is too long to be read at once, in overlapping chapters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from tracejury.schemas.transcript import Chapter, Step, Transcript

from .shorten import pieces, shorten

_HEADER: Final = 0.25  # shares of the room
_INDEX: Final = 0.15
_CLOSING: Final = 0.1
_OVERLAP: Final = 0.25
_SAFE: Final = 0.92  # of the characters that fit by the whole's average; some parts are denser
_LEAST: Final = 600  # characters of a chapter, whatever the budget


def split(transcript: Transcript, budget: int, count: Callable[[str], int], overlap: int = 2) -> tuple[Chapter, ...]:
    """Chapters of at most `budget` tokens by `count`, each with the header and an index of the steps before it.

    One where everything fits. Neighbours share up to `overlap` steps where these take no more than a quarter of the
    room. A step that does not fit is cut apart. `count` is called for the whole and once a chapter, seldom more:
    characters decide the rest. A budget below a few hundred tokens is not kept.
    """
    whole = transcript.header + "".join(s.text for s in transcript.steps) + transcript.closing
    steps = transcript.steps
    if _most(whole) > budget and (tokens := count(whole)) > budget:
        room = int(_SAFE * budget * len(whole) / tokens)
        while True:
            chapters = _Packer(transcript, max(room, _LEAST), overlap).chapters()
            if room <= _LEAST or all(_fits(c.text, budget, count) for c in chapters):
                return chapters
            room = int(room * _SAFE * _SAFE)
    fresh = steps[0].label if steps else ""
    return (Chapter(transcript.header, "", steps, transcript.closing, 0, len(steps), fresh),)


def _fits(text: str, budget: int, count: Callable[[str], int]) -> bool:
    return _most(text) <= budget or count(text) <= budget


def _most(text: str) -> int:
    """Tokens that a text has at most, without counting: half its characters, more for those beyond ASCII."""
    beyond = len(text.encode(errors="replace")) - len(text)
    return (len(text) + 3 * beyond) // 2


class _Packer:
    """Packs steps into chapters of at most `room` characters."""

    def __init__(self, transcript: Transcript, room: int, overlap: int) -> None:
        self._header = shorten(transcript.header, int(room * _HEADER))
        self._closing = shorten(transcript.closing, int(room * _CLOSING))
        self._index_room = int(room * _INDEX)
        self._room = room - len(self._header) - len(self._closing) - self._index_room
        self._overlap = overlap
        self._steps = transcript.steps
        self._units = [
            (i, part)
            for i, step in enumerate(transcript.steps)
            for part in _parts(step, int(self._room * (1 - _OVERLAP)))
        ]

    def chapters(self) -> tuple[Chapter, ...]:
        found: list[Chapter] = []
        at = 0
        while at < len(self._units):
            begin = self._begin(at)
            end = self._end(begin, at)
            found.append(self._chapter(begin, at, end))
            at = end
        return (*found[:-1], replace(found[-1], closing=self._closing))

    def _begin(self, at: int) -> int:
        """First unit of the chapter whose new steps begin at unit `at`, overlap included."""
        begin, size = at, 0
        while begin > 0 and at - begin < self._overlap:
            size += len(self._units[begin - 1][1].text)
            if size > self._room * _OVERLAP:
                break
            begin -= 1
        return begin

    def _end(self, begin: int, at: int) -> int:
        size = sum(len(step.text) for _, step in self._units[begin : at + 1])
        end = at + 1
        while end < len(self._units) and size + len(self._units[end][1].text) <= self._room:
            size += len(self._units[end][1].text)
            end += 1
        return end

    def _chapter(self, begin: int, at: int, end: int) -> Chapter:
        units = self._units[begin:end]
        first, last = units[0][0], units[-1][0] + 1
        return Chapter(
            header=self._header,
            before=self._index(first),
            steps=tuple(step for _, step in units),
            closing="",
            first=first,
            last=last,
            fresh=self._units[at][1].label,
        )

    def _index(self, first: int) -> str:
        """The index of the steps before `first`, as much as there is room for, read from its end."""
        lines: list[str] = []
        room = self._index_room - len(_TITLE) - _NOTE
        for step in reversed(self._steps[:first]):
            room -= len(step.outline) + 1
            if room < 0:
                lines.append(f"[… {first - len(lines)} steps before these …]")
                break
            lines.append(step.outline)
        return "".join(f"{line}\n" for line in (_TITLE, *reversed(lines))) if lines else ""


_TITLE: Final = "Steps before this part, in brief:"
_NOTE: Final = 50


def _parts(step: Step, size: int) -> Sequence[Step]:
    """A step, or the parts of one that is longer than `size` characters, which say so."""
    if len(step.text) <= size:
        return (step,)
    texts = list(pieces(step.text, max(size - _NOTE, _NOTE)))
    heads = (f"{step.label} (part {i} of {len(texts)} of this step)\n" for i in range(1, len(texts) + 1))
    return [replace(step, text=head + text) for head, text in zip(heads, texts, strict=True)]
