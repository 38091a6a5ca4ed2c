"""Another way announced after a failure, in place of an explicit plan, and not taken.

Adapting to an error is right: who tries another way has done what a failure asks for. Only a turn that leaves its plan
for a way that tries nothing is named.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from tracejury.judges.base import Context
from tracejury.judges.claims import gives_up_honestly
from tracejury.judges.facts import RunFacts, TurnFacts
from tracejury.judges.quoting import quote
from tracejury.judges.rule import Hit, rule
from tracejury.judges.wording import SWITCH, first_of
from tracejury.schemas.trajectory import TurnKind


def _after_failure(facts: RunFacts) -> Iterator[tuple[TurnFacts, TurnFacts]]:
    """(the turn that failed, the next acting turn) where no plan was made in between and no agent is asked again."""
    acts = facts.acts
    for before, after in pairwise(acts):
        if before.failure is None and not before.gave_up:
            continue
        between = facts.turns[before.position + 1 : after.position]
        replanned = any(t.turn.kind is TurnKind.PLAN for t in between)
        asks_again = before.failure is None and bool(after.turn.sub_run_ids)
        adapts = after.attempted or facts.plan_at[after.position] < 0
        if not (replanned or asks_again or adapts):
            yield before, after


def _switch(facts: RunFacts, _: Context) -> Iterator[Hit]:
    for before, after in _after_failure(facts):
        at = first_of(after.low, SWITCH)
        if at >= 0 and not gives_up_honestly(facts, after):
            what = before.failed_call.name if before.failed_call else "the step before it"
            text = f"Leaves its plan after a failure of {what} for another way, and tries nothing there."
            yield Hit(after.span_id, quote(after.text, at), text)


RULES: Final = (
    rule(
        "approach-switch",
        "Incorrect Problem Identification",
        "PA TS",
        "MEDIUM",
        _switch,
        version=3,
        of_failure=True,
        title="Plan left after a failure, and nothing tried",
    ),
)
