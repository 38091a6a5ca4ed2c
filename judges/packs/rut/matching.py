"""Calls matched to the steps of an oracle, one to one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tracejury.judges.packs.cards.oracle import MatchRule, OracleStep, ToolPattern
from tracejury.judges.packs.cards.values import blank, same

from .calls import OracleCall

FREE_TEXT: Final = frozenset({"note", "notes", "comment", "comments", "reason", "message", "changed_by"})
"""Arguments that are ignored, whatever they say."""
REQUEST_TIMES: Final = frozenset(
    {"timestamp", "now", "current_time", "request_time", "requested_at", "created_at", "updated_at", "changed_at"}
)
"""Arguments that hold the time of the request: they only have to be present."""


def rule_of(name: str, rules: Mapping[str, MatchRule]) -> MatchRule:
    """How an argument is compared, by the step's rules, else by its name."""
    return rules.get(name) or ("ignore" if name in FREE_TEXT else "present" if name in REQUEST_TIMES else "equal")


def differences(call: OracleCall, wanted: ToolPattern, rules: Mapping[str, MatchRule]) -> Iterator[str]:
    """The arguments of a call of the tool that are not as wanted, by name; all where they are no JSON object."""
    if call.arguments is None:
        yield from wanted.arguments or ("",)
        return
    for name in (*wanted.arguments, *sorted(call.arguments.keys() - wanted.arguments.keys(), key=str)):
        rule = rule_of(name, rules)
        absent = name in wanted.arguments and blank(call.arguments.get(name))
        if (rule == "equal" and not _equal(name, call, wanted)) or (rule == "present" and absent):
            yield name


def _equal(name: str, call: OracleCall, wanted: ToolPattern) -> bool:
    """Whether call and step agree on an argument of either; one may lack what is empty, or the default."""
    given, properties, needed = call.arguments or {}, call.schema.get("properties"), call.schema.get("required")
    required = isinstance(needed, list | tuple) and name in needed
    if name in given and name in wanted.arguments:
        one, other = given[name], wanted.arguments[name]
        return same(one, other) or (not required and blank(one) and blank(other))
    about = properties.get(name) if isinstance(properties, Mapping) else None
    default = about.get("default") if isinstance(about, Mapping) else None
    value = given[name] if name in given else wanted.arguments[name]
    return (name in given or not required) and (blank(value) or same(value, default))


def matches(step: OracleStep, call: OracleCall) -> bool:
    """Whether a call does what a step asks for."""
    wanted = (one for one in (step, *step.equivalent) if one.tool == call.tool)
    return call.ok and any(next(differences(call, one, step.match), None) is None for one in wanted)


def fitting(steps: Sequence[OracleStep], calls: Sequence[OracleCall]) -> list[list[int]]:
    """By call, the positions of the steps that it matches, in their order."""
    by_tool = defaultdict[str, set[int]](set)
    for n, step in enumerate(steps):
        for one in (step, *step.equivalent):
            by_tool[one.tool].add(n)
    return [[n for n in sorted(by_tool.get(call.tool, ())) if matches(steps[n], call)] for call in calls]


def assign(fits: Sequence[Sequence[int]]) -> dict[int, int]:
    """The position of its call by that of each step that has one. `fits`: of each call, the steps that it matches.

    As many steps as possible have a call; among those assignments the earliest calls win: they are tried in their
    order, and one that found a step keeps having one. Steps that a call was tried on in vain have calls that no other
    steps are left for: no later call is tried on them.
    """
    taken, full = dict[int, int](), set[int]()

    def place(call: int, tried: set[int]) -> bool:
        for step in [n for n in fits[call] if n not in taken] or fits[call]:
            if step not in tried:
                tried.add(step)
                if step not in taken or place(taken[step], tried):
                    taken[step] = call
                    return True
        return False

    for call in range(len(fits)):
        if not place(call, tried := {*full}):
            full = tried
    return taken
