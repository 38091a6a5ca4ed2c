"""Texts as detectors look at them: bounded, in lower case, each prepared once."""

from __future__ import annotations

from collections import OrderedDict

HEAD, TAIL = 3000, 1000
"""How much of a text is read, in characters from its start and from its end."""


def bounded(text: str) -> str:
    """The head and the tail of a text."""
    return text if len(text) <= HEAD + TAIL else f"{text[:HEAD]}\n{text[-TAIL:]}"


class TextCache:
    """Bounded, lower-cased texts, least recently used out first. `limit` in texts."""

    __slots__ = ("_limit", "_low")

    def __init__(self, limit: int = 2048) -> None:
        self._limit = limit
        self._low: OrderedDict[str, str] = OrderedDict()

    def low(self, text: str) -> str:
        """The bounded text in lower case, with plain apostrophes."""
        found = self._low.get(text)
        if found is None:
            found = self._low[text] = bounded(text).lower().replace("’", "'")  # noqa: RUF001
            if len(self._low) > self._limit:
                self._low.popitem(last=False)
        else:
            self._low.move_to_end(text)
        return found

    def __len__(self) -> int:
        return len(self._low)
