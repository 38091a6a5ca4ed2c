"""Plans made anew that change nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Final

from tracejury.judges.base import Context
from tracejury.judges.facts import RunFacts
from tracejury.judges.names import Role
from tracejury.judges.phrases import times
from tracejury.judges.quoting import quote
from tracejury.judges.rule import Hit, rule
from tracejury.schemas.trajectory import TurnKind

SAME_PLAN: Final = 0.9
"""Similarity of two plans' texts (ratio of matching blocks) from which the new one is the old one."""

_PLAN_READ: Final = 4000


def _same_plan(facts: RunFacts, _ctx: Context) -> Iterator[Hit]:
    planned = (turn for turn in facts.turns if turn.turn.kind is TurnKind.PLAN and turn.low)
    for old, new in pairwise(planned):
        a, b = old.low[:_PLAN_READ], new.low[:_PLAN_READ]
        if _nearly_same(a, b):
            text = "The new plan repeats the old one nearly word for word, so nothing is changed."
            yield Hit(new.span_id, quote(new.text.lstrip()), text)


def _nearly_same(a: str, b: str) -> bool:
    if min(len(a), len(b)) < SAME_PLAN * max(len(a), len(b)):
        return False
    old, new = a.split(), b.split()
    # No ratio is above the share of words that both have: that is counted first.
    shared = (Counter(old) & Counter(new)).total()
    if 2 * shared < SAME_PLAN * (len(old) + len(new)):
        return False
    return SequenceMatcher(None, old, new, autojunk=False).ratio() >= SAME_PLAN


def _relies_on_failed(facts: RunFacts, _: Context) -> Iterator[Hit]:
    """A plan that names a tool of which the last call before it failed, more than once in all."""
    failures: Counter[str] = Counter()
    failing: set[str] = set()
    last = max((t.position for t in facts.turns if t.turn.kind is TurnKind.PLAN), default=-1)
    for turn in facts.turns[: last + 1]:
        if turn.turn.kind is TurnKind.PLAN and failing and turn.span_id:
            again = next((n for n in facts.named_tools(turn.low) if n in failing and failures[n] >= _FAILED_OFTEN), "")
            if again:
                text = f"Plans with {again} again, which has failed {times(failures[again])} and last did."
                at = turn.low.find(again.lower())
                yield Hit(turn.span_id, quote(turn.text, at), text)
        for call in turn.calls:
            if call.role is Role.ACCESS:
                failures[call.call.name] += call.failure is not None
                (failing.discard if call.failure is None else failing.add)(call.call.name)


_FAILED_OFTEN: Final = 2


RULES: Final = (
    rule(
        "same-plan-again",
        "Context Handling Failures",
        "PQ EE",
        "MEDIUM",
        _same_plan,
        title="New plan repeats the old one",
        scope="turn",
    ),
    rule(
        "plan-relies-on-failed-tool",
        "Context Handling Failures",
        "PQ EE",
        "MEDIUM",
        _relies_on_failed,
        of_failure=True,
        title="Plan relies on a tool that keeps failing",
        scope="run",
    ),
)
