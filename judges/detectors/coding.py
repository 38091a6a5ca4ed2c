"""Agents that change programs: the same step again, changes that do not apply or were not checked, tests not run.

An edit is checked by whatever is done after it: a run, a look at the file, a delegate. Only an agent that could run
code, makes an edit its last act and answers as if all were well has checked nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from tracejury.judges.base import Context
from tracejury.judges.claims import gives_up_honestly
from tracejury.judges.commands import edits, unapplied
from tracejury.judges.facts import RunFacts, TurnFacts, failed_calls
from tracejury.judges.failure_text import FailureKind
from tracejury.judges.names import Role
from tracejury.judges.phrases import times
from tracejury.judges.quoting import json_text, quote, quote_call
from tracejury.judges.rule import Hit, rule
from tracejury.judges.wording import TESTS_CLAIMED, TESTS_RUN, WORDINGS, first_of, holds_any

SAME_STEPS: Final = 3
"""Equal steps in a row with equal outcomes that are a waste."""


def same_steps(facts: RunFacts) -> Iterator[list[TurnFacts]]:
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
    for turns in same_steps(facts):
        last = turns[SAME_STEPS - 1]  # so that it stays where it is while the row goes on
        text = f"The same code is run {times(len(turns))} in a row, with the same outcome each time."
        also = tuple(t.span_id for t in turns if t is not last)
        yield Hit(last.span_id, quote(last.text, max(0, last.text.find(last.code))), text, also_at=also)


def _unapplied(facts: RunFacts, _: Context) -> Iterator[Hit]:
    for turn, failed in facts.once(failed_calls) if facts.acts else ():
        call = failed.call
        broke = failed.failure is not None and failed.failure.kind is FailureKind.EXIT and turn.span_id
        if broke and edits(call.name, call.arguments) and unapplied(call.result or ""):
            text = f"The change that {call.name} was given does not fit the file, so nothing was changed."
            yield Hit(
                turn.span_id, quote_call(turn.turn, call), text, tool_span_id=call.span.span_id if call.span else ""
            )


def _unchecked(facts: RunFacts, _: Context) -> Iterator[Hit]:
    for before, last in pairwise(facts.acts[-2:]):
        done = [c.call for c in before.calls]
        edited = bool(done) and before.failure is None and all(edits(c.name, c.arguments) for c in done)
        acts = last.code or last.turn.sub_run_ids or any(c.role is not Role.FINAL for c in last.calls)
        runs = edited and any(c.runs_code for t in facts.acts for c in t.calls)
        if not runs or acts or not last.text.strip() or gives_up_honestly(facts, last):
            continue
        if not holds_any(last.low, WORDINGS["commands"]["unchecked"]):
            text = f"Answers right after an edit by {done[-1].name}: nothing was run or looked at after it."
            yield Hit(last.span_id, quote(last.text.strip()), text, also_at=(before.span_id,))


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
        if turn.turn.sub_run_ids or any(holds_any(text.lower(), TESTS_RUN) for text in done):
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
        scope="run",
    ),
    rule(
        "patch-not-applied",
        "Formatting Errors",
        "TC EE",
        "MEDIUM",
        _unapplied,
        confidence=0.5,
        version=1,
        of_failure=True,
        title="Change that does not fit the file",
        scope="run",
    ),
    rule(
        "edit-unchecked",
        "Goal Deviation",
        "PA EE",
        "MEDIUM",
        _unchecked,
        confidence=0.4,
        version=1,
        of_absence=True,
        title="Last edit was never checked",
        scope="run",
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
        scope="run",
    ),
)
