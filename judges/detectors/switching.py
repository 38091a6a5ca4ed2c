"""Another way taken after a failure, without a new plan."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from ...schemas.trajectory import TurnKind
from ..base import Context
from ..claims import gives_up_honestly
from ..facts import RunFacts, TurnFacts
from ..quoting import quote
from ..rule import Hit, rule
from ..wording import SWITCH, first_of


def _after_failure(facts: RunFacts) -> Iterator[tuple[TurnFacts, TurnFacts]]:
    """(the turn that failed, the next acting turn) where no plan was made in between and no agent is asked again."""
    acts = facts.acts
    for before, after in pairwise(acts):
        between = facts.turns[before.position + 1 : after.position]
        replanned = any(t.turn.kind is TurnKind.PLAN for t in between)
        asks_again = before.failure is None and bool(after.turn.sub_run_ids)
        if (before.failure is not None or before.gave_up) and not replanned and not asks_again:
            yield before, after


def _switch(facts: RunFacts, _: Context) -> Iterator[Hit]:
    for before, after in _after_failure(facts):
        at = first_of(after.low, SWITCH)
        if at >= 0 and not gives_up_honestly(facts, after):
            what = before.failed_call.name if before.failed_call else "the step before it"
            text = f"Goes another way after a failure of {what}, without a new plan."
            yield Hit(after.span_id, quote(after.text, at), text)


RULES: Final = (
    rule(
        "approach-switch",
        "Incorrect Problem Identification",
        "PA TS",
        "MEDIUM",
        _switch,
        title="Approach changed without a new plan",
    ),
)
