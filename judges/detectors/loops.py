"""Calls, or cycles of calls, that are made again and again with the same outcome (judges/loops.py)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from tracejury.judges.base import Context
from tracejury.judges.facts import RunFacts
from tracejury.judges.failure_text import FailureKind
from tracejury.judges.loops import Loop, loops
from tracejury.judges.phrases import times
from tracejury.judges.quoting import quote_call, quote_executed
from tracejury.judges.rule import Hit, rule

from .failures import tool_evidence


def _brings_the_same(facts: RunFacts, _: Context, *, cycles: bool) -> Iterator[Hit]:
    for loop in facts.once(loops):
        if not loop.fails and (loop.period > 1) is cycles:
            yield from _hit(loop, "with the same arguments, and each time with the same result")


def _fails_again(facts: RunFacts, _: Context) -> Iterator[Hit]:
    for loop in facts.once(loops):
        if loop.fails and loop.calls[-1].call.refusal is not FailureKind.CALL_LIMIT:
            same = "with the same arguments, and" if loop.records else "with arguments that are not recorded, and"
            yield from _hit(loop, f"{same} fails each time in the same way")


def _ran_into_a_limit(facts: RunFacts, _: Context) -> Iterator[Hit]:
    """A harness lets the agent call nothing more, and the agent goes on asking."""
    for loop in facts.once(loops):
        if loop.calls[-1].call.refusal is FailureKind.CALL_LIMIT:
            yield from _hit(loop, "and is turned down each time, since a limit is reached")


def _hit(loop: Loop, how: str) -> Iterator[Hit]:
    """A hit at the call that made it a loop: its place and its quote stay while the loop goes on."""
    last = loop.calls[-1]
    call, span = last.call.call, last.call.call.span
    names = list(dict.fromkeys(one.call.call.name for one in loop.cycle))
    if loop.period == 1:
        text = f"{names[0]} is called {times(loop.rounds)} in a row {how}."
    else:
        text = f"{loop.period} calls ({', '.join(names)}) are made {times(loop.rounds)} in turn {how}."
    others = (one.span_id for one in (*loop.calls, *loop.again))
    also = tuple(dict.fromkeys(span_id for span_id in others if span_id not in ("", last.span_id)))
    evidence = quote_call(last.turn.turn, call) if last.turn.span_id else ""
    if span is not None and not evidence:  # the model's calls have no spans, or no content is recorded
        evidence = quote_executed(span, call) if loop.records else tool_evidence(span, call, last.outcome)
    shown = span.span_id if span is not None else ""
    yield Hit(last.span_id, evidence, text, tool_span_id=shown, also_at=also)


RULES: Final = (
    rule(
        "identical-call",
        "Resource Abuse",
        "EE",
        "MEDIUM",
        partial(_brings_the_same, cycles=False),
        confidence=0.6,
        title="Same call again with the same result",
        scope="run",
        version=6,
    ),
    rule(
        "identical-cycle",
        "Resource Abuse",
        "EE",
        "MEDIUM",
        partial(_brings_the_same, cycles=True),
        confidence=0.6,
        title="Same calls in turn with the same results",
        scope="run",
        version=3,
    ),
    rule(
        "identical-failure",
        "Resource Abuse",
        "EE TC",
        "MEDIUM",
        _fails_again,
        confidence=0.5,
        version=6,
        of_failure=True,
        title="Same failing call again and again",
        scope="run",
    ),
    rule(
        "call-limit",
        "Resource Exhaustion",
        "EE",
        "MEDIUM",
        _ran_into_a_limit,
        confidence=0.6,
        version=1,
        of_failure=True,
        title="Run ended at a limit",
        scope="run",
    ),
)
