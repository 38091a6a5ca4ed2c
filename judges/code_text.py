"""Effects of code that an agent writes."""

from __future__ import annotations

from .wording import WORDINGS


def reaches_out(code: str) -> bool:
    """Whether code reads files, runs commands or asks services."""
    return any(way in code for way in WORDINGS["code"]["reaching_out"])
