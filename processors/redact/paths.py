"""Paths into JSON: a small part of RFC 9535, with names, indexes and `*`.

`$.messages[*].content`, `messages.*.content` and `$["messages"][0]` are paths. A path goes on into JSON that stands in
a string.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

Path = tuple[str, ...]
"""Names and indexes; `*` is any."""

_STEP: Final = re.compile(r"\.?([^.\[\]\"'*$]+|\*)|\[(\d+|\*)\]|\[\"([^\"]+)\"\]|\['([^']+)'\]")


def parse_path(text: str) -> Path:
    """The steps of a path.

    Raises:
        ValueError: it is none, or uses more of RFC 9535 than this.
    """
    rest = text.removeprefix("$")
    steps = []
    at = 0
    while at < len(rest):
        step = _STEP.match(rest, at)
        if step is None:
            raise ValueError(
                f"not a path at {rest[at : at + 20]!r}: write names, [0] and *, as in $.messages[*].content"
            )
        steps.append(next(part for part in step.groups() if part is not None))
        at = step.end()
    if not steps:
        raise ValueError("the path is empty: name a value, as in $.messages[*].content")
    return tuple(steps)


def covers(path: Path, place: Sequence[str]) -> bool:
    """Whether the value at `place` is the one that the path names, or stands inside of it."""
    return len(place) >= len(path) and all(step in ("*", at) for step, at in zip(path, place, strict=False))
