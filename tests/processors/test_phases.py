"""Kinds of calls by wording, against looking at every word of every kind."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from tracejury.processors.phases import _wanted
from tracejury.processors.wording import WANTED
from tracejury.schemas.trajectory import TurnKind

WORDS = [
    "write",
    "develop",
    "a",
    "plan",
    "facts",
    "answer",
    "provide",
    "the",
    "to",
    "this",
    "list",
    "any",
    ".",
    "\n",
    "x" * 60,
]
PROMPTS = st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join)


def last(text: str, word: str, pattern: re.Pattern[str]) -> int:
    """Last offset of the word within a match, -1 for none."""
    offsets = [at.start() for at in re.finditer(word, text)]
    return max((at for at in offsets if pattern.search(text, max(0, at - 80), at + len(word) + 8)), default=-1)


@given(PROMPTS)
def test_the_last_thing_that_is_asked_for_counts(text: str) -> None:
    """Of all kinds the one whose wanted word stands last."""
    found = {kind: last(text, word, pattern) for kind, (word, pattern) in WANTED.items()}
    kind = max(found, key=found.__getitem__)
    assert _wanted(text) == (kind if found[kind] >= 0 else TurnKind.ACT)
