"""What a transcript has shown already, line by line: frameworks send the same text again in other wrappings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from ...schemas.shown import shown
from .lines import HEAD, block, cut, halves

LEAST_GROUP: Final = 60
"""Characters from which a repetition is left out: the reference takes some, too."""

_LEAST_LINE: Final = 16  # shorter lines stand in many texts by chance
_LEAST_PART: Final = 80  # characters that are left of a part when a text of several parts is cut
_LONGEST: Final = 60_000  # characters of one text that are compared
_NAMED: Final = 3  # places that a reference names
_LETTER: Final = re.compile(r"[^\W_]")


class Seen:
    """Lines and where they were first shown: a step's label or "header"."""

    __slots__ = ("_origin",)

    def __init__(self) -> None:
        # A line's hash stands for it: the lines themselves would double the memory of a trace.
        self._origin: dict[int, str] = {}

    def learn(self, label: str, text: str) -> None:
        """Note that `text` stands at `label`."""
        begin, _, end = halves(text, _LONGEST)
        for part in (begin, end) if end else (begin,):
            self._note(label, _keys(shown(part).split("\n")))

    def tell(self, label: str, text: str, limit: int, head: float = HEAD, least: int = LEAST_GROUP) -> str:
        """`text` as recorded lines, those that were shown before replaced by where, the rest cut; then learn it.

        `least`: characters from which lines that were shown before are left out.
        """
        if len(text) > _LONGEST:
            self.learn(label, text)
            return block(text, limit, head)
        lines = shown(text).rstrip().split("\n")
        keys = _keys(lines)
        parts = list(self._parts(lines, keys, least))
        self._note(label, keys)
        size = sum(len(part) for where, part in parts if not where)
        share = min(1.0, limit / size) if size else 1.0
        told = (
            f"= {where}" if where else cut(part, max(int(len(part) * share), _LEAST_PART), head)
            for where, part in parts
        )
        return "\n".join(told)

    def whole(self, text: str) -> bool:
        """Whether all of `text` was shown before."""
        if len(text) > _LONGEST:
            return False
        lines = shown(text).rstrip().split("\n")
        return all(where for where, _ in self._parts(lines, _keys(lines), 0))

    def _note(self, label: str, keys: Sequence[int]) -> None:
        for key in keys:
            if key:
                self._origin.setdefault(key, label)

    def _parts(self, lines: Sequence[str], keys: Sequence[int], least: int) -> Iterator[tuple[str, str]]:
        """(where shown before or "", lines) in order; lines that say little go with what stands before them."""
        fresh: list[str] = []
        known: list[str] = []
        labels: dict[str, None] = {}
        for line, key in zip(lines, keys, strict=True):
            label = self._origin.get(key, "") if key else ""
            if label or (known and not key):
                known.append(line)
                if label:
                    labels[label] = None
                continue
            if known:
                yield from _known(fresh, known, labels, least)
            fresh.append(line)
        if known:
            yield from _known(fresh, known, labels, least)
        if fresh:
            yield "", "\n".join(fresh)


def _known(fresh: list[str], known: list[str], labels: dict[str, None], least: int) -> Iterator[tuple[str, str]]:
    """What stood before a repetition and where that was shown; a short one joins what stands around it."""
    text = "\n".join(known)
    if len(text) < least:
        fresh += known
    else:
        if fresh:
            yield "", "\n".join(fresh)
        fresh.clear()
        yield _where(list(labels), len(known)), text
    known.clear()
    labels.clear()


def _keys(lines: Sequence[str]) -> list[int]:
    """A key a line, 0 for lines that are too short to be compared or have no letters."""
    return [hash(bare) if len(bare := line.strip()) >= _LEAST_LINE and _LETTER.search(bare) else 0 for line in lines]


def _where(labels: Sequence[str], lines: int) -> str:
    named = ", ".join(labels[:_NAMED]) + (" …" if len(labels) > _NAMED else "")
    return f"{named} ({lines} line{'s' if lines > 1 else ''})"
