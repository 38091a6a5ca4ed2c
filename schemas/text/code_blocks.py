"""Code that an agent writes in its text, to be run by its framework."""

from __future__ import annotations

import re
from typing import Final

_FENCED: Final = re.compile(r"```[a-zA-Z_+-]{0,20}\s|<(?:code|execute\w{0,10})>")
_CLOSED: Final = re.compile(r"```|</(?:code|execute\w{0,10})>")
_READ: Final = 20_000


def code_of(text: str) -> str:
    """The first fenced piece of code in a text, without its fence; "" where there is none."""
    return with_code(text)[1]


def with_code(text: str) -> tuple[str, str]:
    """The words before the first fenced piece of code, and the code; the whole text and "" where there is none."""
    # Substrings first: most texts have no code, and a pattern would walk through all of them.
    starts = [at for mark in ("```", "<code>", "<execute") if (at := text.find(mark, 0, _READ)) >= 0]
    opened = _FENCED.match(text, min(starts)) if starts else None
    if opened is None:
        return text, ""
    rest = text[opened.end() : opened.end() + _READ]
    closed = _CLOSED.search(rest)
    return text[: opened.start()].strip(), (rest[: closed.start()] if closed else rest).strip()
