"""Names as lists show them, as expressions of SQL: cut in the store, so that it ships no megabytes."""

from __future__ import annotations

from typing import Final

from tracejury.schemas.text.naming import CUT, MOST

AGENTS: Final = 100
"""Names of a kind that one row of a list shows."""


def short(name: str) -> str:
    """The SQL of `naming.shortened` for the name that an expression gives."""
    return f"concat(substringUTF8({name}, 1, {MOST}), if(lengthUTF8({name}) > {MOST}, '{CUT}', ''))"


def shorts(names: str) -> str:
    """The first `AGENTS` of an array of names, each short."""
    return f"arrayMap(n -> {short('n')}, arraySlice({names}, 1, {AGENTS}))"


def is_whole(name: str) -> str:
    """The condition that a list shows all of a name."""
    return f"lengthUTF8({name}) <= {MOST}"
