"""Turns that announce a call which never runs: the code or the text names a tool or agent, and nothing happens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ...schemas.taxonomy import Dimension, Severity
from ..base import Context
from ..facts import RunFacts, TurnFacts
from ..quoting import quote
from ..rule import Hit, RunRule
from ..wording import INTENT, first_of

_PLAN: Final = re.compile(r"\W{0,20}(?:(?:here is|here's|this is) )?(?:(?:my|the|our|a) )?(?:\w{1,20} )?plan\b")
"""A turn that opens as a plan announces calls of later turns."""


def announces_without_calling(facts: RunFacts, turn: TurnFacts) -> bool:
    """Whether an acting turn says that it will use a tool or agent, runs none, and hands over no answer."""
    if (
        turn.attempted
        or turn.answers
        or turn.failure is not None
        or not turn.turn.closed
        or first_of(turn.low, INTENT) < 0
        or _PLAN.match(turn.low)
    ):
        return False
    return bool(facts.named_tools(turn.low)) and not any(c.call.requested for c in turn.calls)


def _announcements(facts: RunFacts) -> list[TurnFacts]:
    # The last acting turn of a run is its answer: naming a tool there is a report, not an announcement.
    acts = facts.acts
    last = acts[-1].position if acts else -1
    return [t for t in acts if t.position != last and announces_without_calling(facts, t)]


def _hit(facts: RunFacts, turn: TurnFacts, explanation: str) -> Hit:
    name = facts.named_tools(turn.low)[0]
    at = turn.low.find(name.lower())
    text = turn.said
    return Hit(turn.span_id, quote(text, min(at, len(text) - 1)), explanation.format(name=name))


def _first(facts: RunFacts, _: Context) -> Iterator[Hit]:
    for turn in _announcements(facts)[:1]:
        yield _hit(facts, turn, "Announces a call of {name}, but calls nothing, so the step brings nothing.")


def _again(facts: RunFacts, _: Context) -> Iterator[Hit]:
    for turn in _announcements(facts)[1:]:
        yield _hit(
            facts, turn, "Announces a call of {name} and calls nothing, as an earlier turn of this run did already."
        )


RULES: Final = (
    RunRule(
        name="intent-without-call",
        category="Tool Selection Errors",
        dimensions=(Dimension.TOOL_SELECTION, Dimension.TOOL_CALLING, Dimension.EXECUTION_EFFICIENCY),
        severity=Severity.HIGH,
        find=_first,
        version=3,
        of_absence=True,
    ),
    RunRule(
        name="intent-without-call-again",
        category="Task Orchestration",
        dimensions=(Dimension.EXECUTION_EFFICIENCY, Dimension.TOOL_SELECTION, Dimension.TOOL_CALLING),
        severity=Severity.MEDIUM,
        find=_again,
        version=3,
        of_absence=True,
    ),
)
