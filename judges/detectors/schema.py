"""Calls that were turned down: an unknown tool, arguments that are no JSON or none that the tool takes, a refusal.

Each kind (judges/refusals.py) has one rule, at the LLM call that wrote the call, with the call's span and the turn that
reads it; only a broken schema is reported at the reading turn, too. LOW where the agent has mended it since.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Final

from tracejury.judges.base import Context
from tracejury.judges.facts import CallFacts, RunFacts, TurnFacts
from tracejury.judges.failure_text import FailureKind
from tracejury.judges.later_calls import retries
from tracejury.judges.names import Role
from tracejury.judges.quoting import quote_call, quote_executed
from tracejury.judges.rule import Hit, rule
from tracejury.judges.tool_schema import mistyped, parameters_of, reason_of_refusal
from tracejury.judges.wording import WORDINGS, holds_any
from tracejury.schemas.normalized import Message

from .failures import read_hit, severity_of, words_of


def _refused(facts: RunFacts, kind: FailureKind) -> Iterator[tuple[TurnFacts, CallFacts]]:
    for turn, call in facts.once(_turned_down):
        going_on = not facts.settled and turn.position == len(facts.turns) - 1
        # Of a call without an outcome nobody knows before the run is over or goes on.
        if call.refusal is kind and (call.failure is not None or not going_on):
            yield turn, call


def _turned_down(facts: RunFacts) -> Iterator[tuple[TurnFacts, CallFacts]]:
    return ((turn, call) for turn, call in facts.calls if call.refusal is not None)


def _why(call: CallFacts, kind: FailureKind) -> str:
    name = call.call.name[:60]
    if kind is FailureKind.UNKNOWN_TOOL:
        return f"There is no tool named {name!r}."
    if kind is FailureKind.MALFORMED:
        return f"The arguments for {name} are no valid JSON, so they could not be read."
    if kind is FailureKind.POLICY:
        return f"This call of {name} was refused: a rule or a person did not allow it."
    why = _reason(call) or "was given arguments that it does not take"
    return f"{name} {why}, so this call {'did not run' if call.ran is False else 'failed'}."


def _reason(call: CallFacts) -> str:
    """How the arguments of a call break the schema of its tool, "" where that is not known."""
    return reason_of_refusal(call.call.arguments, parameters_of(call.call, call.tools))


def _words(call: CallFacts, kind: FailureKind) -> str:
    """What tells faults apart where no schema says which argument is wrong: the error's own words."""
    return "" if kind is not FailureKind.SCHEMA or _reason(call) else words_of(call.failure, "arguments refused")


def _title(call: CallFacts, kind: FailureKind) -> str:
    """What is wrong with arguments, by the schema, else by what the error says; "" for the title of the rule."""
    if kind is not FailureKind.SCHEMA:
        return ""
    found, told = _reason(call), call.failure.text[:_READ].lower() if call.failure is not None else ""
    if found.startswith("needs") or (not found and holds_any(told, _MISSING)):
        return "Argument missing"
    if found.startswith("takes another type") or (not found and holds_any(told, _MISTYPED)):
        return "Argument of the wrong type"
    return ""


_READ: Final = 2000
_MISSING: Final = WORDINGS["arguments"]["missing"]
_MISTYPED: Final = WORDINGS["arguments"]["mistyped"]


def _made(facts: RunFacts, ctx: Context, *, kind: FailureKind) -> Iterator[Hit]:
    again_at = dict(facts.once(retries))
    for turn, call in _refused(facts, kind):
        shown = call.call.span.span_id if call.call.span else turn.span_id
        reader = facts.turns[turn.read.position].span_id if turn.read else ""
        linked = (reader,) if reader and kind is FailureKind.SCHEMA else ()
        evidence = quote_call(turn.turn, call.call)
        if not turn.span_id and call.call.span is not None:
            evidence = quote_executed(call.call.span, call.call)
        place, severity = turn.span_id or shown, severity_of(ctx, facts, turn, call)
        if place:
            again = again_at.get(turn.span_id, "") if call.call is turn.failed_call else ""
            also = (again,) if again else ()
            yield Hit(
                place,
                evidence,
                _why(call, kind),
                tool_span_id=shown,
                seen_by_span_id=reader,
                also_at=also,
                linked=linked,
                severity=severity,
                title=_title(call, kind),
                template=_words(call, kind),
            )


def _read(facts: RunFacts, ctx: Context) -> Iterator[Hit]:
    for turn, call in _refused(facts, FailureKind.SCHEMA):
        if turn.span_id:
            text = f"This turn is the first to read a failure: {_why(call, FailureKind.SCHEMA)}"
            severity = severity_of(ctx, facts, turn, call)
            title = _title(call, FailureKind.SCHEMA)
            yield from (replace(hit, severity=severity, title=title) for hit in read_hit(facts, turn, text))


def _mistyped(facts: RunFacts, _: Context) -> Iterator[Hit]:
    """A call that worked although an argument has another type than its schema says.

    Arguments that the schema does not know, and missing ones, are no error where the call worked: frameworks add some
    and have defaults for others.
    """
    for turn, call in facts.calls:
        if turn.turn.llm is None or call.role is not Role.ACCESS or call.failure is not None or not call.ran:
            continue
        name = mistyped(call.call.arguments, parameters_of(call.call, call.tools))
        if name:
            text = f"{call.call.name} is given {name[:40]!r} in another type than its schema says; the call worked."
            yield Hit(turn.span_id, quote_call(turn.turn, call.call), text)


def _unanswered(history: Sequence[Message]) -> set[str]:
    """Ids of requests in a history that nothing answers: neither a result, nor a message that may be one without id."""
    found, waiting = set[str](), set[str]()
    for message in history:
        if message.role == "assistant":
            found |= waiting
        if message.role == "assistant" or not message.tool_call_id:
            waiting = set()
        waiting |= {r.call_id for r in message.tool_requests if r.call_id}
    return (found | waiting) - {m.tool_call_id for m in history}


def _lost(facts: RunFacts, _: Context) -> Iterator[Hit]:
    """The model was sent its request again and no result for it; where requests have no ids, nobody can tell."""
    for turn in facts.turns:
        calls = _silent(turn)
        at = bisect_right(facts.acts, turn.position, key=attrgetter("position")) if calls else len(facts.acts)
        later = facts.acts[at].turn.llm if at < len(facts.acts) else None
        unanswered = _unanswered(later.input_messages) if later is not None else set()
        for call in calls:
            if call.call.call_id in unanswered:
                shown = call.call.span.span_id if call.call.span else ""
                text = f"The agent went on without a result of its call of {call.call.name[:60]}: none was ever sent."
                yield Hit(turn.span_id, quote_call(turn.turn, call.call), text, tool_span_id=shown)


def _silent(turn: TurnFacts) -> list[CallFacts]:
    """The calls of a turn of which nothing came back."""
    silent = [c for c in turn.calls if c.call.result is None and c.failure is None and c.refusal is None]
    return [c for c in silent if c.call.call_id and turn.span_id and not c.call.sub_run_id]


RULES: Final = (
    rule(
        "mistyped-argument",
        "Formatting Errors",
        "TC",
        "LOW",
        _mistyped,
        confidence=0.2,
        title="Argument of another type than declared",
        scope="run",
    ),
    rule(
        "schema-violation",
        "Formatting Errors",
        "TC EE",
        "MEDIUM",
        partial(_made, kind=FailureKind.SCHEMA),
        version=4,
        of_failure=True,
        title="Argument the tool does not take",
    ),
    rule(
        "schema-violation-read",
        "Formatting Errors",
        "TC EE",
        "MEDIUM",
        _read,
        version=5,
        of_failure=True,
        title="Argument the tool does not take",
    ),
    rule(
        "unknown-tool",
        "Tool Selection Errors",
        "TS TC",
        "MEDIUM",
        partial(_made, kind=FailureKind.UNKNOWN_TOOL),
        confidence=0.6,
        version=4,
        of_failure=True,
        title="Call of a tool that does not exist",
    ),
    rule(
        "malformed-arguments",
        "Formatting Errors",
        "TC",
        "MEDIUM",
        partial(_made, kind=FailureKind.MALFORMED),
        confidence=0.6,
        version=5,
        of_failure=True,
        title="Arguments that are no JSON",
    ),
    rule(
        "call-refused",
        "Tool Selection Errors",
        "TC",
        "MEDIUM",
        partial(_made, kind=FailureKind.POLICY),
        version=4,
        of_failure=True,
        title="Call that was refused",
    ),
    rule("lost-result", "Tool-related", "TC EE", "MEDIUM", _lost, title="Result that never came", scope="run"),
)

SCHEMA_RULES: Final = frozenset(one.name for one in RULES if one.name.startswith("schema-violation"))
"""Those that say how a call breaks the schema of its tool."""
