"""Texts as detectors look at them: bounded, in lower case, each prepared once."""

from __future__ import annotations

from functools import lru_cache

HEAD, TAIL = 3000, 1000
"""Characters that are read from a text's start and from its end."""


def bounded(text: str) -> str:
    """The head and the tail of a text."""
    return text if len(text) <= HEAD + TAIL else f"{text[:HEAD]}\n{text[-TAIL:]}"


class TextCache:
    """Bounded, lower-cased texts, the `limit` most recently used ones."""

    __slots__ = ("_low",)

    def __init__(self, limit: int = 2048) -> None:
        self._low = lru_cache(limit)(_low)

    def low(self, text: str) -> str:
        """The bounded text in lower case, with plain apostrophes."""
        return self._low(text)

    def __len__(self) -> int:
        return self._low.cache_info().currsize


def _low(text: str) -> str:
    return bounded(text).lower().replace("’", "'")  # noqa: RUF001
