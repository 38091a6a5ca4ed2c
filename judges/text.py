"""Texts as detectors look at them: bounded, in lower case."""

from __future__ import annotations

HEAD, TAIL = 3000, 1000
"""Characters that are read from a text's start and from its end."""


def bounded(text: str) -> str:
    """The head and the tail of a text."""
    return text if len(text) <= HEAD + TAIL else f"{text[:HEAD]}\n{text[-TAIL:]}"


def lowered(text: str) -> str:
    """The bounded text in lower case, with plain apostrophes."""
    return bounded(text).lower().replace("\u2019", "'")
