"""The wordings that detectors look for, read from wording.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Final

WORDINGS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    section: {name: tuple(words) for name, words in tables.items()}
    for section, tables in tomllib.loads((files(__package__) / "wording.toml").read_text("utf-8")).items()
}
"""Section to table to wordings. Matching is plain substring search in a lower-cased text with straight apostrophes."""

_STATEMENTS: Final = WORDINGS["statements"]
LOOK_UP: Final = _STATEMENTS["look_up"]
ASSUMPTION: Final = _STATEMENTS["assumption"]
SIMULATION: Final = _STATEMENTS["simulation"]
RECALL: Final = _STATEMENTS["recall"]
VERIFICATION: Final = _STATEMENTS["verification"]
FABRICATION: Final = _STATEMENTS["fabrication"]
TESTS_CLAIMED: Final = _STATEMENTS["tests_claimed"]
TESTS_RUN: Final = _STATEMENTS["tests_run"]
INTENT: Final = _STATEMENTS["intent"]
DENIAL: Final = _STATEMENTS["denial"]
SWITCH: Final = _STATEMENTS["switch"]
GIVING_UP: Final = _STATEMENTS["giving_up"]


def holds_any(text: str, needles: tuple[str, ...]) -> bool:
    """Whether any needle occurs in `text` (lower case)."""
    return any(needle in text for needle in needles)


def first_of(text: str, needles: tuple[str, ...]) -> int:
    """Offset of the first occurrence of any needle in `text` (lower case), -1 where there is none."""
    first = -1
    for needle in needles:
        # Behind the first one found so far nothing is looked for.
        at = text.find(needle, 0, first + len(needle) if first >= 0 else len(text))
        first = at if at >= 0 else first
    return first
