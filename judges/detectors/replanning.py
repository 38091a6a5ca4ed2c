"""Plans made anew that change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Final

from ...schemas.taxonomy import Dimension, Severity
from ...schemas.trajectory import TurnKind
from ..base import Context
from ..evidence import quote
from ..facts import Role, RunFacts
from ..rule import Hit, RunRule
from .plans import segments

SAME_PLAN: Final = 0.9
"""Similarity of two plans' texts (ratio of matching blocks) from which the new one is the old one."""

_PLAN_READ: Final = 4000


def _same_plan(facts: RunFacts, _: Context) -> Iterator[Hit]:
    plans = [t for t in facts.turns if t.turn.kind is TurnKind.PLAN and t.low]
    for old, new in pairwise(plans):
        a, b = old.low[:_PLAN_READ], new.low[:_PLAN_READ]
        if _nearly_same(a, b):
            yield Hit(new.span_id, quote(new.said.lstrip()), "The new plan is the old one again.", also_at=())


def _nearly_same(a: str, b: str) -> bool:
    if min(len(a), len(b)) < SAME_PLAN * max(len(a), len(b)):
        return False
    matcher = SequenceMatcher(None, a.split(), b.split(), autojunk=False)
    return matcher.quick_ratio() >= SAME_PLAN and matcher.ratio() >= SAME_PLAN


def _relies_on_failed(facts: RunFacts, _: Context) -> Iterator[Hit]:
    """A re-plan that names a tool of which the last call before it failed, more than once in all."""
    for plan, _acts in segments(facts):
        before = [c for t in facts.turns[: plan.position] for c in t.calls if c.role is Role.ACCESS]
        for name in facts.named_tools(plan.low):
            same = [c for c in before if c.call.name == name]
            failures = [c for c in same if c.failure is not None]
            if same and same[-1].failure is not None and len(failures) >= _FAILED_OFTEN:
                at = plan.low.find(name.lower())
                text = f"Plans with {name} again, which has failed {len(failures)} times."
                yield Hit(plan.span_id, quote(plan.said, at), text)
                break


_FAILED_OFTEN: Final = 2


_PQ = (Dimension.PLAN_QUALITY, Dimension.EXECUTION_EFFICIENCY)

RULES: Final = (
    RunRule(
        name="same-plan-again",
        category="Context Handling Failures",
        dimensions=(Dimension.PLAN_QUALITY, Dimension.EXECUTION_EFFICIENCY),
        severity=Severity.MEDIUM,
        find=_same_plan,
    ),
    RunRule(
        name="plan-relies-on-failed-tool",
        category="Context Handling Failures",
        dimensions=_PQ,
        severity=Severity.MEDIUM,
        find=_relies_on_failed,
    ),
)
