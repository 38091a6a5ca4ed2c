"""Names that change on their way from the task into a call."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from typing import Final

from tracejury.judges.base import Context
from tracejury.judges.facts import CallFacts, RunFacts
from tracejury.judges.names import Role, text_of
from tracejury.judges.quoting import quote
from tracejury.judges.rule import Hit, rule

_NAME: Final = re.compile(r"[A-Z](?<!\w[A-Z])[a-z]{4,30}\b")
"""A capitalised word. What a pattern begins with is sought much faster than what must stand before it."""

_GOAL_READ: Final = 4000
_CALL_READ: Final = 2000

NEARLY: Final = 0.85
"""Likeness (ratio of matching letters) of two different words from which one is a slip of the other."""

MOST_CALLS: Final = 64
"""Calls of one run whose names are compared with the task's."""


def slipped(text: str, goal: str) -> tuple[str, str] | None:
    """(name as called, name as asked) of the first name in `text` that is a slip of one in `goal`, None without one."""
    names = dict.fromkeys(_NAME.findall(text[:_CALL_READ]))
    return _slip(names, _Goal(goal[:_GOAL_READ]))


@dataclass(frozen=True)
class _Goal:
    """The opening of a task, with the names in it; most calls name nothing, so that neither is needed."""

    text: str

    @cached_property
    def low(self) -> str:
        return self.text.lower()

    @cached_property
    def names(self) -> list[str]:
        return sorted(set(_NAME.findall(self.text)))


def _slip(names: Collection[str], goal: _Goal) -> tuple[str, str] | None:
    unknown = [name for name in names if name.lower() not in goal.low]
    asked = goal.names if unknown else []
    return next(((name, other) for name in unknown for other in asked if _is_slip(name, other)), None)


def _is_slip(name: str, other: str) -> bool:
    # Endings are grammar, not slips.
    if name[:_STEM] != other[:_STEM] and name[-_STEM:] != other[-_STEM:]:
        return False
    if name.startswith(other) or other.startswith(name) or name[:-2] == other[:-2]:
        return False
    return SequenceMatcher(None, name, other, autojunk=False).ratio() >= NEARLY


_STEM: Final = 3


def _named(call: CallFacts) -> tuple[str, Collection[str]]:
    """The texts of a call that the agent asked for, and the names in them."""
    text = text_of(call.call.arguments) if call.role is Role.ACCESS and call.call.requested else ""
    return text, dict.fromkeys(_NAME.findall(text[:_CALL_READ]))


def _altered(facts: RunFacts, _: Context) -> Iterator[Hit]:
    left, goal = MOST_CALLS, _Goal(facts.run.goal[:_GOAL_READ])
    for turn in facts.acts:
        for call in turn.calls:
            text, names = _named(call) if left else ("", ())
            if not text:
                continue
            left -= 1
            found = _slip(names, goal) if names else None
            # A name that was read somewhere, a translated one perhaps, is no slip.
            if found is not None and not any(found[0] in seen for seen in facts.texts_until(turn.position)):
                at = text.find(found[0])
                yield Hit(turn.span_id, quote(text, at), f"The task names {found[1]!r}; the call says {found[0]!r}.")


RULES: Final = (
    rule(
        "entity-altered",
        "Incorrect Memory Usage",
        "LC TC",
        "MEDIUM",
        _altered,
        version=3,
        confidence=0.3,
        title="Name or number changed on the way",
        scope="turn",
    ),
)
