"""Calls whose arguments the tool does not take: checked against its recorded parameters and by its error text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...schemas.json_types import JSON_TYPES
from ...schemas.normalized import Json
from ...schemas.trajectory import ToolCall
from ..base import Context
from ..facts import CallFacts, RunFacts, TurnFacts
from ..failure_text import FailureKind
from ..names import Role
from ..quoting import quote_call
from ..rule import Hit, rule
from .failures import read_hit


def violation(arguments: Json, parameters: Mapping[str, Any] | None) -> str:
    """The violation of a JSON object schema by `arguments`, in a few words; "" for none or unknown."""
    if not isinstance(parameters, Mapping) or not isinstance(arguments, Mapping):
        return ""
    properties = parameters.get("properties", {})
    if not isinstance(properties, Mapping) or not all(isinstance(v, Mapping) for v in properties.values()):
        return ""
    unknown = [str(k) for k in arguments if k not in properties]
    if unknown and not parameters.get("additionalProperties"):
        return f"takes no argument {unknown[0][:40]!r}"
    required = parameters.get("required", ())
    missing = [str(k) for k in required if k not in arguments] if isinstance(required, list | tuple) else []
    return f"needs the argument {missing[0][:40]!r}" if missing else ""


def mistyped(arguments: Json, parameters: Mapping[str, Any] | None) -> str:
    """The first argument whose value has not the JSON type that its schema names, "" if none or not decidable."""
    properties = parameters.get("properties") if isinstance(parameters, Mapping) else None
    if not isinstance(properties, Mapping) or not isinstance(arguments, Mapping):
        return ""
    for name, value in arguments.items():
        schema = properties.get(name)
        wanted = schema.get("type") if isinstance(schema, Mapping) else None
        expected = JSON_TYPES.get(wanted) if isinstance(wanted, str) else None
        if expected is not None and value is not None and not _is_of(value, expected):
            return str(name)
    return ""


def _is_of(value: object, expected: tuple[type, ...]) -> bool:
    if isinstance(value, bool):
        return bool in expected
    return isinstance(value, expected) or (expected == (int,) and isinstance(value, float) and value.is_integer())


def _parameters(facts: RunFacts, call: ToolCall) -> Mapping[str, Any] | None:
    if call.span is not None and call.span.tool_parameters is not None:
        return call.span.tool_parameters
    return next((t.parameters for t in facts.run.tools if t.name == call.name), None)


def _wrong(facts: RunFacts, turn: TurnFacts, call: CallFacts) -> str:
    """Why the call's arguments were wrong; "" for a call that worked or failed for another reason.

    Some frameworks list every property as required, so that a missing one explains a failure only where the error says
    so or the call never ran.
    """
    never_ran = call.ran is False and (facts.settled or turn.failure is not None)
    kind = call.failure.kind if call.failure else None
    if call.role is Role.FINAL or not (never_ran or kind in _UNEXPLAINED):
        return ""
    found = violation(call.call.arguments, _parameters(facts, call.call))
    if found and (never_ran or kind is FailureKind.SCHEMA or found.startswith("takes")):
        return found
    return "was given arguments that it does not take" if kind is FailureKind.SCHEMA else ""


_UNEXPLAINED: Final = frozenset({FailureKind.SCHEMA, FailureKind.CODE, FailureKind.OTHER})
"""Failures that wrong arguments may be the reason of."""


def _violations(facts: RunFacts) -> Iterator[tuple[TurnFacts, CallFacts, str]]:
    for turn in facts.turns:
        if turn.turn.llm is None:
            continue
        for call in turn.calls:
            why = _wrong(facts, turn, call)
            if why:
                yield turn, call, why


def _made(facts: RunFacts, _: Context) -> Iterator[Hit]:
    for turn, call, why in _violations(facts):
        text = f"{call.call.name} {why}, so this call {'did not run' if call.ran is False else 'failed'}."
        reader = facts.turns[turn.read.position].span_id if turn.read else ""
        span_id = call.call.span.span_id if call.call.span else ""
        evidence = quote_call(turn.turn, call.call)
        yield Hit(turn.span_id, evidence, text, span_id, reader, linked=(reader,) if reader else ())


def _read(facts: RunFacts, _: Context) -> Iterator[Hit]:
    for turn, call, why in _violations(facts):
        text = f"This turn is the first to read that a call of {call.call.name} failed: it {why}."
        yield from read_hit(facts, turn, text)


def _unknown_tool(facts: RunFacts, _: Context) -> Iterator[Hit]:
    for turn in facts.turns:
        given = {t.name for t in turn.turn.llm.tools} if turn.turn.llm else set()
        for call in turn.calls:
            requested = call.call.requested and call.ran is False and call.role is Role.ACCESS
            if given and requested and call.call.name not in given | set(facts.run.managed_agents):
                yield Hit(turn.span_id, call.call.name, f"There is no tool named {call.call.name[:60]!r}.")


def _mistyped(facts: RunFacts, _: Context) -> Iterator[Hit]:
    """A call that worked although an argument has another type than its schema says.

    Arguments that the schema does not know, and missing ones, are no error where the call worked: frameworks add some
    and have defaults for others.
    """
    for turn in facts.turns:
        for call in turn.calls if turn.turn.llm is not None else ():
            if call.role is not Role.ACCESS or call.failure is not None or not call.ran:
                continue
            name = mistyped(call.call.arguments, _parameters(facts, call.call))
            if name:
                text = f"{call.call.name} is given {name[:40]!r} in another type than its schema says; the call worked."
                yield Hit(turn.span_id, quote_call(turn.turn, call.call), text)


RULES: Final = (
    rule(
        "mistyped-argument",
        "Formatting Errors",
        "TC",
        "LOW",
        _mistyped,
        confidence=0.2,
        title="Argument of another type than declared",
    ),
    rule("schema-violation", "Formatting Errors", "TC EE", "MEDIUM", _made, title="Argument the tool does not take"),
    rule(
        "schema-violation-read",
        "Formatting Errors",
        "TC EE",
        "MEDIUM",
        _read,
        version=3,
        title="Argument the tool does not take",
    ),
    rule(
        "unknown-tool",
        "Tool Selection Errors",
        "TS TC",
        "MEDIUM",
        _unknown_tool,
        title="Call of a tool that does not exist",
    ),
)
