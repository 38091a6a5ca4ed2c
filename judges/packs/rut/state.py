"""Assertions of an oracle on JSON states: those that a harness emits, or results of a tool."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tracejury.judges.packs.cards.oracle import StateAssertion
from tracejury.judges.packs.cards.values import contains
from tracejury.schemas.spans import Span

from .calls import OracleCall

BEFORE: Final = "tracejury.state.before"
AFTER: Final = "tracejury.state.after"
MISSING: Final = object()
"""What was not observed, or is not there."""


@dataclass(frozen=True, slots=True)
class States:
    """A state before and after; `MISSING` where it was not observed."""

    before: Any = MISSING
    after: Any = MISSING


UNOBSERVED: Final = States()


def emitted(spans: Iterable[Span]) -> States:
    """What the harness emits: before of the span that began first, after of the one that ended last."""
    ordered = sorted(spans, key=lambda span: (span.start, span.span_id))
    before = [s.attributes[BEFORE] for s in ordered if BEFORE in s.attributes]
    ended = sorted(ordered, key=lambda span: span.end)
    after = [s.attributes[AFTER] for s in ended if AFTER in s.attributes]
    return States(_json(before[0]) if before else MISSING, _json(after[-1]) if after else MISSING)


def holds(assertion: StateAssertion, harness: States, calls: Sequence[OracleCall]) -> bool | None:
    """Whether an assertion holds; None where a state that it is about was not observed."""
    observed = harness if assertion.of is None else _results(assertion, calls)
    before, after = _at(observed.before, assertion.path), _at(observed.after, assertion.path)
    kind = assertion.kind
    if observed.after is MISSING or (kind != "equals" and observed.before is MISSING):
        return None
    if kind == "equals":
        return after is not MISSING and contains(after, assertion.equals)
    if assertion.changed is not None:
        both = before is not MISSING and after is not MISSING
        return both and contains(before, assertion.changed.old) and contains(after, assertion.changed.new)
    if kind == "added":
        return _count(after, assertion.added) > _count(before, assertion.added)
    return _count(after, assertion.removed) < _count(before, assertion.removed)


def _results(assertion: StateAssertion, calls: Sequence[OracleCall]) -> States:
    """The first and the last result that can be read of the calls that an assertion names."""
    of = assertion.of
    fitting = (c for c in calls if of and c.ok and c.tool == of.tool and contains(c.arguments or {}, of.arguments))
    read = [data for call in fitting if (data := _json(call.result or "")) is not MISSING]
    return States(read[0] if len(read) > 1 else MISSING, read[-1] if read else MISSING)


def _count(collection: Any, entity: Any) -> int:
    """How many members of an object or list have all that the entity has; under which keys does not matter."""
    members = collection.values() if isinstance(collection, Mapping) else collection
    return sum(contains(one, entity) for one in members) if isinstance(collection, Mapping | list) else 0


def _at(state: Any, path: str | Sequence[str | int]) -> Any:
    keys = (path.split(".") if path else ()) if isinstance(path, str) else path
    for key in keys:
        if isinstance(state, Mapping):
            state = state.get(str(key), MISSING)
        elif isinstance(state, list) and str(key).isdecimal() and int(key) < len(state):
            state = state[int(key)]
        else:
            return MISSING
    return state


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return MISSING
