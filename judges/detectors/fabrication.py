"""Wording by which an agent says itself that its data are made up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tracejury.judges.base import Context
from tracejury.judges.facts import RunFacts
from tracejury.judges.quoting import quote
from tracejury.judges.rule import Hit, rule
from tracejury.judges.wording import FABRICATION, first_of


def _made_up(facts: RunFacts, _: Context) -> Iterator[Hit]:
    """Made-up data in a turn that tries no look-up, while the data that was asked for is missing."""
    tried = False
    if facts.informed:
        return
    for turn in facts.acts:
        if turn.succeeded:
            return
        tried = tried or turn.attempted
        wanted = facts.tools and not turn.attempted and (tried or facts.wants_data[turn.position])
        at = first_of(turn.low, FABRICATION) if wanted else -1
        if at >= 0:
            text = "Says itself that its data are made up; no look-up has succeeded so far."
            yield Hit(turn.span_id, quote(turn.text, at), text)


RULES: Final = (
    rule(
        "fabrication-wording",
        "Language-only",
        "LC",
        "HIGH",
        _made_up,
        version=3,
        title="Result made up, as the wording admits",
    ),
)
