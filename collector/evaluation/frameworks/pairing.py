"""Pairs of true and rebuilt tool calls, and the sides in which they differ."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tracejury.schemas.trajectory import ToolCall

from .stated import StatedCall
from .truth import TrueCall


@dataclass(frozen=True, slots=True)
class SeenCall:
    """A rebuilt tool call with the name of its agent; `at`: position in its trace, then in its run."""

    agent: str
    call: ToolCall
    at: int


@dataclass(frozen=True, slots=True)
class Expected:
    """A call of the truth with what the export tells of it; `others`: names of the agents whose call it is not."""

    call: TrueCall
    told: StatedCall
    others: frozenset[str]


Fits = Callable[[Expected, SeenCall], bool]


@dataclass(frozen=True, slots=True)
class Pairs:
    """True calls by position with what stands for them, in what they differ ("": nothing), and what is left over."""

    found: Mapping[int, SeenCall]
    kinds: Mapping[int, str]
    left: Sequence[SeenCall]


def pair(expected: Sequence[Expected], seen: Sequence[SeenCall]) -> Pairs:
    """The likeliest pairs: first those that agree in all, then those that differ in ever more."""
    found: dict[int, SeenCall] = {}
    kinds: dict[int, str] = {}
    left = list(seen)
    for kind, fits in _PASSES:
        for at, one in enumerate(expected):
            match = None if at in found else next((s for s in left if fits(one, s)), None)
            if match is not None:
                left.remove(match)
                found[at], kinds[at] = match, kind
    return Pairs(found, kinds, left)


def out_of_order(expected: Sequence[Expected], pairs: Pairs) -> set[int]:
    """Right calls in the wrong order: those outside the longest increasing subsequence of their agent."""
    of: defaultdict[str, list[int]] = defaultdict(list)
    for at, one in enumerate(expected):
        if pairs.kinds.get(at) == "" and pairs.found[at].agent == one.call.agent:
            of[one.call.agent].append(at)
    return {at for ats in of.values() for at in set(ats) - _ascending(ats, [pairs.found[a].at for a in ats])}


def _ascending(ats: Sequence[int], places: Sequence[int]) -> set[int]:
    ends: list[int] = []
    length = []
    for place in places:
        n = bisect_left(ends, place)
        ends[n : n + 1] = [place]
        length.append(n)
    kept, wanted = set(), len(ends) - 1
    for i in range(len(ats) - 1, -1, -1):
        if length[i] == wanted:
            kept.add(ats[i])
            wanted -= 1
    return kept


def _agent(one: Expected, seen: SeenCall) -> bool:
    """Where the export does not tell whose call it is, its run goes by any name that is not another agent's."""
    return seen.agent == one.call.agent or (not one.told.agent and seen.agent not in one.others)


def same_name(one: Expected, seen: SeenCall) -> bool:
    """Whether both name the same tool."""
    return seen.call.name == one.call.name


def same_arguments(one: Expected, seen: SeenCall) -> bool:
    """Whether the arguments are equal; none are honest where the export has none."""
    got, true = seen.call.arguments, one.call.arguments
    if got is None or got in ("", {}):
        return not true or not one.told.arguments
    return bool(got == true)


def _executed(one: Expected, seen: SeenCall) -> bool:
    true = one.call.executed
    if true is None:
        return True
    return seen.call.executed is true or (not one.told.executed and seen.call.executed is None)


def _error(one: Expected, seen: SeenCall) -> bool:
    if one.call.executed is None or not one.told.error:
        return True
    return (seen.call.error is not None) == (one.call.error is not None)


def _all(*sides: Fits) -> Fits:
    return lambda one, seen: all(side(one, seen) for side in sides)


_PASSES: Sequence[tuple[str, Fits]] = (
    ("", _all(_agent, same_name, same_arguments, _executed, _error)),
    ("error", _all(_agent, same_name, same_arguments, _executed)),
    ("executed", _all(_agent, same_name, same_arguments)),
    ("agent", lambda one, seen: bool(one.call.arguments) and same_name(one, seen) and same_arguments(one, seen)),
    ("name", lambda one, seen: bool(one.call.arguments) and _agent(one, seen) and same_arguments(one, seen)),
    ("arguments", _all(_agent, same_name)),
)
