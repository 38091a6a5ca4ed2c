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


def _brings_the_same(facts: RunFacts, _: Context, *, cycles: bool) -> Iterator[Hit]:
    for loop in facts.once(loops):
        if not loop.fails and (loop.period > 1) is cycles:
            yield from _hit(loop, "with the same arguments, and each time with the same result")


def _fails_again(facts: RunFacts, _: Context) -> Iterator[Hit]:
    for loop in facts.once(loops):
        if loop.fails and loop.calls[-1].call.refusal is not FailureKind.CALL_LIMIT:
            yield from _hit(loop, "with the same arguments, and fails each time in the same way")


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
    others = (one.turn.span_id for one in (*loop.calls, *loop.again))
    also = tuple(dict.fromkeys(span_id for span_id in others if span_id not in ("", last.turn.span_id)))
    if last.turn.span_id:
        shown = span.span_id if span is not None else ""
        yield Hit(last.turn.span_id, quote_call(last.turn.turn, call), text, tool_span_id=shown, also_at=also)
    elif span is not None:  # the model's calls have no spans
        yield Hit(span.span_id, quote_executed(span, call), text, tool_span_id=span.span_id)


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
        version=5,
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
        version=2,
    ),
    rule(
        "identical-failure",
        "Resource Abuse",
        "EE TC",
        "MEDIUM",
        _fails_again,
        confidence=0.5,
        version=5,
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
