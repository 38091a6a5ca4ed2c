"""What a transcript has shown already, line by line: frameworks send the same text again in other wrappings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...schemas.shown import shown
from .lines import HEAD, block, halves

_LEAST_LINE: Final = 16  # shorter lines stand in many texts by chance
LEAST_GROUP: Final = 60
"""Characters from which a repetition is left out: the reference takes some, too."""

_LONGEST: Final = 60_000  # characters of one text that are compared


class Seen:
    """Lines and where they were first shown: a step's label or "header"."""

    __slots__ = ("_origin",)

    def __init__(self) -> None:
        # A line's hash stands for it: the lines themselves would double the memory of a trace.
        self._origin: dict[int, str] = {}

    def learn(self, label: str, text: str) -> None:
        """Note that `text` stands at `label`."""
        begin, _, end = halves(text, _LONGEST)
        for part in (begin, end):
            for line in shown(part).split("\n") if part else ():
                if _telling(bare := line.strip()):
                    self._origin.setdefault(hash(bare), label)

    def block(self, text: str, limit: int, head: float = HEAD, least: int = LEAST_GROUP) -> str:
        """`text` as recorded lines, those that were shown before replaced by where; then cut.

        `least`: characters from which lines that were shown before are left out.
        """
        if len(text) > _LONGEST:
            return block(text, limit, head)
        parts = list(self._parts(shown(text), least))
        room = sum(len(part) for label, part in parts if not label)
        share = limit / room if room > limit else 1.0
        lines = []
        for label, part in parts:
            lines.append(f"= {label}" if label else block(part, max(int(len(part) * share), 80), head))
        return "\n".join(lines)

    def whole(self, text: str) -> str:
        """The one label under which all of `text` was shown before, "" where there is none."""
        parts = list(self._parts(shown(text), 0)) if len(text) <= _LONGEST else []
        return parts[0][0] if len(parts) == 1 else ""

    def _parts(self, text: str, least: int) -> Iterator[tuple[str, str]]:
        """(where shown before or "", lines) in order."""
        fresh: list[str] = []
        known: list[str] = []
        labels: dict[str, None] = {}
        for line in text.rstrip().split("\n"):
            bare = line.strip()
            telling = _telling(bare)
            label = self._origin.get(hash(bare)) if telling else None
            if label is None and known and not telling:
                known.append(line)  # a short line goes with what stands around it
                continue
            if label is not None:
                known.append(line)
                labels[label] = None
                continue
            if known:
                yield from _flush(fresh, known, labels, least)
            fresh.append(line)
        if known:
            yield from _flush(fresh, known, labels, least)
        if fresh:
            yield "", "\n".join(fresh)


def _telling(bare: str) -> bool:
    return len(bare) >= _LEAST_LINE and any(c.isalnum() for c in bare)


def _flush(fresh: list[str], known: list[str], labels: dict[str, None], least: int) -> Iterator[tuple[str, str]]:
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


def _where(labels: list[str], lines: int) -> str:
    named = ", ".join(labels[:3]) + (" …" if len(labels) > 3 else "")  # noqa: PLR2004 - three are enough to look up
    return f"{named} ({lines} line{'s' if lines > 1 else ''})"
