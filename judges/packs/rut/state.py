"""Assertions of an oracle on JSON states: those that a harness emits, or results of a tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tracejury.judges.packs.cards.oracle import StateAssertion
from tracejury.judges.packs.cards.values import contains
from tracejury.judges.packs.emitted_states import MISSING, States, read_json

from .calls import OracleCall


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
    read = [data for call in fitting if (data := read_json(call.result or "")) is not MISSING]
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
