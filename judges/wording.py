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


def first_of(text: str, needles: tuple[str, ...]) -> int:
    """Offset of the first occurrence of any needle in `text` (lower case), -1 where there is none."""
    found = [at for needle in needles if (at := text.find(needle)) >= 0]
    return min(found, default=-1)
