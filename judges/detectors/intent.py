"""Turns that announce a call which never runs: the code or the text names a tool or agent, and nothing happens.

An announcement is worded. A key's value in a structured reply is data, and what the framework decides after it is not
the model's omission.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Final

from ..base import Context
from ..facts import RunFacts, TurnFacts
from ..names import find_name
from ..quoting import quote
from ..rule import Hit, rule
from ..structured import prose
from ..text import bounded
from ..wording import INTENT, first_of

_PLAN: Final = re.compile(r"\W{0,20}(?:(?:here is|here's|this is) )?(?:(?:my|the|our|a) )?(?:\w{1,20} )?plan\b")
"""A turn that opens as a plan announces calls of later turns."""


def announces_without_calling(facts: RunFacts, turn: TurnFacts) -> bool:
    """Whether an acting turn says that it will use a tool or agent, runs none, and hands over no answer."""
    if turn.attempted or turn.answers or turn.failure is not None or not turn.turn.closed or _PLAN.match(turn.low):
        return False
    return bool(_announced(facts, turn)) and not any(c.call.requested for c in turn.calls)


def _announced(facts: RunFacts, turn: TurnFacts) -> str:
    """The first tool that a turn's worded announcement names, "" for none."""
    words = bounded(prose(turn.text)).lower().replace("\u2019", "'")
    names = facts.named_tools(words) if first_of(words, INTENT) >= 0 else []
    return names[0] if names else ""


def _announcements(facts: RunFacts) -> list[TurnFacts]:
    # The last acting turn of a run is its answer: naming a tool there is a report, not an announcement.
    return [t for t in facts.acts[:-1] if announces_without_calling(facts, t)]


def _hits(facts: RunFacts, ctx: Context, *, which: slice, text: str) -> Iterator[Hit]:
    for turn in ctx.once(_announcements, facts)[which]:
        name = _announced(facts, turn)
        at = find_name(prose(turn.text).lower(), name.lower())
        yield Hit(turn.span_id, quote(turn.text, at), text.format(name=name))


_FIRST: Final = "Announces a call of {name}, but calls nothing, so the step brings nothing."
_AGAIN: Final = "Announces a call of {name} and calls nothing, as an earlier turn of this run did already."
_first = partial(_hits, which=slice(1), text=_FIRST)
_again = partial(_hits, which=slice(1, None), text=_AGAIN)

RULES: Final = (
    rule(
        "intent-without-call",
        "Tool Selection Errors",
        "TS TC EE",
        "HIGH",
        _first,
        version=4,
        of_absence=True,
        title="Announced call that was not made",
        scope="run",
    ),
    rule(
        "intent-without-call-again",
        "Task Orchestration",
        "EE TS TC",
        "MEDIUM",
        _again,
        version=4,
        of_absence=True,
        title="Announced call that was not made, again",
        scope="run",
    ),
)
