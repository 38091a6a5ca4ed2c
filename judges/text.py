"""What one text says about failure, read once: the shared ground of all detectors.

Only the head and the tail of a long text are looked at, with `str` methods on a lower-cased copy; the few regular
expressions have no nested repetition. So the cost of a text is bounded whatever it holds.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

HEAD, TAIL = 6000, 2000


@dataclass(frozen=True, slots=True)
class TextFacts:
    """Facts of one text. `low`: its bounded lower-cased form."""

    low: str


def read_text(text: str) -> TextFacts:
    """Analyse one text; a pure function of it."""
    return TextFacts(low=bounded(text).lower())


def bounded(text: str) -> str:
    """The head and the tail of a text."""
    return text if len(text) <= HEAD + TAIL else f"{text[:HEAD]}\n{text[-TAIL:]}"


class TextCache:
    """Facts by text, least recently used out first. Size in texts."""

    __slots__ = ("_facts", "_limit")

    def __init__(self, limit: int = 4096) -> None:
        self._limit = limit
        self._facts: OrderedDict[str, TextFacts] = OrderedDict()

    def __call__(self, text: str) -> TextFacts:
        """The facts of `text`, analysed at first sight."""
        found = self._facts.get(text)
        if found is None:
            found = self._facts[text] = read_text(text)
            if len(self._facts) > self._limit:
                self._facts.popitem(last=False)
        else:
            self._facts.move_to_end(text)
        return found

    def __len__(self) -> int:
        return len(self._facts)
