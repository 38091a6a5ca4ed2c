"""Lines that a transcript has shown: frameworks send the same text again in other wrappings.

A text of many similar items (search hits, rows, objects) keeps the beginning of each when it is cut.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from tracejury.schemas.shown import shown
from tracejury.schemas.text.media_marks import without_base64
from tracejury.schemas.transcript import cut_notice

from .condense import ENDS, level
from .hidden import HiddenPassages
from .lines import HEAD, block, cut, halves, recorded

LEAST_GROUP: Final = 60
"""Characters from which a repetition is left out: the reference takes some, too."""

_LEAST_LINE: Final = 16  # shorter lines stand in many texts by chance
_LEAST_PART: Final = 80  # characters that are left of a part when a text of several parts is cut
_LONGEST: Final = 60_000  # characters of one text that are compared
_NAMED: Final = 3  # places that a reference names
_LETTER: Final = re.compile(r"[^\W_]")
_QUOTED: Final = 160  # characters from which a line may be a text of several lines in quotes
_KNOWN: Final = 0.7  # share of such a text that must have been shown
_ESCAPE: Final = re.compile(r"\\(.)")
_ESCAPES: Final = {"n": "\n", "t": "\t"}

Shorten = Callable[[str, int], str]
"""Recorded lines, the characters that they may have: the lines with what is left out stated."""

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


class ShownLines:
    """Lines and where they were first shown: "result of S4", "first message"."""

    __slots__ = ("_hidden", "_lost", "_origin")

    def __init__(self, hidden: HiddenPassages) -> None:
        self._hidden = hidden
        # A line's hash stands for it: the lines themselves would double the memory of a trace.
        self._origin: dict[int, str] = {}
        self._lost: set[int] = set()  # lines of prompts that were cut

    def record(self, place: str, text: str) -> None:
        """Record that `text` is shown at `place`."""
        begin, _, end = halves(without_base64(text), _LONGEST)
        for part in (begin, end) if end else (begin,):
            self._note(place, _keys(shown(part).split("\n")))

    def render(
        self,
        place: str,
        text: str,
        limit: int,
        head: float = HEAD,
        least: int = LEAST_GROUP,
        shorter: Shorten | None = None,
        *,
        whole: bool = False,
    ) -> str:
        """`text` as recorded lines, those that were shown before replaced by where, the rest cut; then learn it.

        `least`: characters from which lines that were shown before are left out. `shorter`: how all of
        it is cut, if not in the middle. `whole`: prompts' lines that were cut where they were first shown are shown.
        """
        text = without_base64(text)
        if len(text) > _LONGEST:
            self.record(place, text)
            self._hidden.read(place, text, limit, head)
            return block(text, limit, head)
        lines = shown(text).rstrip().split("\n")
        keys = _keys(lines)
        parts = list(self._parts(lines, keys, least, whole=whole))
        self._note(place, keys)
        if shorter:
            told = shorter("\n".join(f"= {where}" if where else recorded(part) for where, part in parts), limit)
            self._note_cut(told, parts)
            return told
        size = sum(len(part) for where, part in parts if not where)
        share = min(1.0, limit / size) if size else 1.0
        return "\n".join(f"= {where}" if where else self._shortened(place, part, share, head) for where, part in parts)

    def _shortened(self, place: str, part: str, share: float, head: float) -> str:
        limit = max(int(len(part) * share), _LEAST_PART)
        if len(part) > limit + LEAST_GROUP and head == HEAD and (short := shortened_items(part, limit)):
            told, kept, missing = short
            self._hidden.note(place, kept, missing)
            return told
        self._hidden.read(place, part, limit, head)
        return cut(part, limit, head)

    def contains(self, text: str) -> bool:
        """Whether all of `text` was shown before."""
        if len(text) > _LONGEST:
            return False
        lines = shown(text).rstrip().split("\n")
        return all(where for where, _ in self._parts(lines, _keys(lines), 0, ends=False))

    def _note(self, place: str, keys: Sequence[int]) -> None:
        for key in keys:
            if key:
                self._origin.setdefault(key, place)

    def _note_cut(self, told: str, parts: Sequence[tuple[str, str]]) -> None:
        """Note the lines of a prompt that its shortened text does not have, until they are shown."""
        kept = set(told.split("\n"))
        for where, part in parts:
            lines = [] if where else part.split("\n")
            for line, key in zip(lines, _keys(lines), strict=True):
                if f" {line}" in kept:
                    self._lost.discard(key)
                else:
                    self._lost.add(key)

    def _where(self, line: str, key: int, *, whole: bool) -> str:
        """The place at which a line was shown, also unquoted and unescaped as several lines; "" for none."""
        if not key or (whole and key in self._lost):
            return ""
        place = self._origin.get(key, "")
        if place or len(line) < _QUOTED or "\\n" not in line:
            return place
        inner = _ESCAPE.sub(lambda m: _ESCAPES.get(m[1], m[1]), line).split("\n")
        found: Counter[str] = Counter()
        for part, part_key in zip(inner, _keys(inner), strict=True):
            found[self._origin.get(part_key, "") if part_key else ""] += len(part)
        fresh = found.pop("", 0)
        return max(found, key=found.__getitem__) if found and fresh <= (1 - _KNOWN) * len(line) else ""

    def _parts(
        self, lines: Sequence[str], keys: Sequence[int], least: int, *, ends: bool = True, whole: bool = False
    ) -> Iterator[tuple[str, str]]:
        """(where shown before or "", lines) in order; lines that say little go with what stands before them.

        `ends`: the last line of an error that is shown again is told, for it says what happened.
        """
        fresh: list[str] = []
        known: list[str] = []
        labels: dict[str, None] = {}
        for line, key in zip(lines, keys, strict=True):
            label = self._where(line, key, whole=whole)
            if label or (known and not key):
                known.append(line)
                if label:
                    labels[label] = None
                continue
            if known:
                yield from _known(fresh, known, labels, least, ends=ends)
            fresh.append(line)
        if known:
            yield from _known(fresh, known, labels, least, ends=ends)
        if fresh:
            yield "", "\n".join(fresh)


def _known(
    fresh: list[str], known: list[str], labels: dict[str, None], least: int, *, ends: bool
) -> Iterator[tuple[str, str]]:
    """New lines before a repetition, and a reference for it; a short repetition joins its neighbours."""
    text = "\n".join(known)
    if len(text) < least:
        fresh += known
    else:
        if fresh:
            yield "", "\n".join(fresh)
        fresh.clear()
        if ends and len(known) > 1 and any(label.startswith("error ") for label in labels):
            fresh.append(next((line for line in reversed(known) if line.strip()), ""))
        yield _where(list(labels), len(known)), text
    known.clear()
    labels.clear()


def _keys(lines: Sequence[str]) -> list[int]:
    """A key a line, 0 for lines that are too short to be compared or have no letters."""
    return [hash(bare) if len(bare := line.strip()) >= _LEAST_LINE and _LETTER.search(bare) else 0 for line in lines]


def _where(labels: Sequence[str], lines: int) -> str:
    named = ", ".join(labels[:_NAMED]) + (" …" if len(labels) > _NAMED else "")
    return f"{named} ({lines} line{'s' if lines > 1 else ''})"


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
