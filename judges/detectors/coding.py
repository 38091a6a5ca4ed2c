"""Agents that act by code in their text: the same step again, and tests that are claimed but were not run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..base import Context
from ..facts import RunFacts, TurnFacts
from ..names import Role
from ..phrases import times
from ..quoting import json_text, quote
from ..rule import Hit, rule
from ..wording import TESTS_CLAIMED, TESTS_RUN, first_of

SAME_STEPS: Final = 3
"""Equal steps in a row with equal outcomes that are a waste."""


def _same_steps(facts: RunFacts) -> Iterator[list[TurnFacts]]:
    """Maximal runs of at least SAME_STEPS acting turns with the same code and the same outcome."""
    current: list[TurnFacts] = []
    for turn in [*facts.acts, None]:
        if current and (turn is None or _step(turn) != _step(current[-1])):
            if len(current) >= SAME_STEPS:
                yield current
            current = []
        if turn is not None and turn.code and not turn.calls and _step(turn)[1]:
            current.append(turn)


def _step(turn: TurnFacts) -> tuple[str, str]:
    """A step's code and what came of it, "" where that is not recorded."""
    return turn.code, turn.failure.text if turn.failure else turn.turn.observation


def _identical(facts: RunFacts, _: Context) -> Iterator[Hit]:
    for turns in _same_steps(facts):
        last = turns[-1]
        text = f"The same code is run {times(len(turns))} in a row, with the same outcome each time."
        yield Hit(last.span_id, quote(last.text, max(0, last.text.find(last.code))), text)


def _claimed_tests(facts: RunFacts, _: Context) -> Iterator[Hit]:
    """The last turn says that tests pass, and nothing that was done before has run any."""
    for last in facts.acts[-1:]:
        at = first_of(last.low, TESTS_CLAIMED)
        if at < 0 or not any(t.code or t.calls for t in facts.acts[:-1]) or _runs_tests(facts):
            continue
        text = "Says that tests pass, but no test was run in this run."
        yield Hit(last.span_id, quote(last.text, at), text)


def _runs_tests(facts: RunFacts) -> bool:
    for turn in facts.acts:
        # What hands over the answer repeats the claim.
        done = [] if turn is facts.acts[-1] else [turn.code, turn.turn.observation]
        for call in (c.call for c in turn.calls if c.role is not Role.FINAL):
            done += [call.name, json_text(call.arguments), call.result or ""]
        if turn.turn.sub_run_ids or any(first_of(text.lower(), TESTS_RUN) >= 0 for text in done):
            return True
    return False


RULES: Final = (
    rule(
        "identical-step",
        "Resource Abuse",
        "EE",
        "MEDIUM",
        _identical,
        confidence=0.5,
        title="Same code again with the same outcome",
    ),
    rule(
        "tests-claimed",
        "Language-only",
        "LC TC",
        "HIGH",
        _claimed_tests,
        confidence=0.6,
        of_absence=True,
        title="Passing tests claimed without a run",
    ),
)
