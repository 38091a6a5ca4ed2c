"""Two traces of one question side by side: their steps in pairs, and the first at which they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import zip_longest
from typing import Final

from tracejury.judges.names import plain

from .steps import TraceStep
from .wording import same_argument, same_wording

MOST_ALIGNED: Final = 250
"""Steps of each trace after the first difference that are aligned; later ones are not compared."""

MOST_OF_A_REPLY: Final = 100
"""Calls of one reply that are paired up; more are in the order of their names and arguments."""
_SEVERAL: Final = 2


class StepDifference(StrEnum):
    """How two steps differ, in the order in which it is told."""

    ENDS = "one ends earlier"
    STEP = "another step"
    ARGUMENTS = "other arguments"
    OUTCOME = "another outcome"
    RESULT = "another result"
    ANSWER = "another answer"


@dataclass(frozen=True, slots=True)
class StepPair:
    """Steps of both traces at one place; None: this trace has none there. `difference`: None, they are the same."""

    first: TraceStep | None
    second: TraceStep | None
    difference: StepDifference | None


@dataclass(frozen=True, slots=True)
class Alignment:
    """The steps of two traces in pairs. `divergence`: what each did where they first differ, None where nowhere.

    `at`: the number of pairs before it; `left`: steps of both that are not aligned.
    """

    pairs: Sequence[StepPair]
    divergence: StepPair | None
    at: int
    left: int


def align(first: Sequence[TraceStep], second: Sequence[TraceStep]) -> Alignment:
    """The steps in pairs: one by one up to the first difference, from there by the steps that both have."""
    first, second, at = list(first), list(second), 0
    while at < min(len(first), len(second)):
        _pair_up(first, second, at)
        if difference(first[at], second[at]) is not None:
            break
        at += 1
    pairs = [StepPair(a, b, None) for a, b in zip(first[:at], second[:at], strict=True)]
    a, b = next(iter(zip_longest(first[at : at + 1], second[at : at + 1])), (None, None))
    if a is None and b is None:
        return Alignment(pairs, None, at, 0)
    divergence = StepPair(a, b, _of(a, b))
    rest, other = first[at : at + MOST_ALIGNED], second[at : at + MOST_ALIGNED]
    if divergence.difference not in (StepDifference.STEP, StepDifference.ENDS):
        pairs.append(divergence)
        rest, other = rest[1:], other[1:]
    pairs += _aligned(rest, other)
    left = max(0, len(first) - at - MOST_ALIGNED) + max(0, len(second) - at - MOST_ALIGNED)
    return Alignment(pairs, divergence, at, left)


def difference(one: TraceStep, other: TraceStep) -> StepDifference | None:
    """How two steps differ; None where only ids, times and wording do."""
    agents = {plain(one.agent), plain(other.agent)} - {""}
    if len(agents) > 1 or plain(one.tool) != plain(other.tool):
        return StepDifference.STEP
    if one.told.keys() != other.told.keys() or not all(same_argument(one.told[n], other.told[n]) for n in one.told):
        return StepDifference.ARGUMENTS
    if (one.outcome, one.told_failure) != (other.outcome, other.told_failure):
        return StepDifference.OUTCOME
    if not same_wording(one.told_result, other.told_result):
        return StepDifference.RESULT if one.tool else StepDifference.ANSWER
    return None


def _pair_up(first: list[TraceStep], second: list[TraceStep], at: int) -> None:
    """Put calls that one reply asked for, and that both have, before those that only one has."""
    ends = _end_of_reply(first, at), _end_of_reply(second, at)
    if min(ends) == at or max(ends) - at < _SEVERAL:
        return
    left, alone, both = second[at : ends[1]], list[TraceStep](), list[tuple[TraceStep, TraceStep]]()
    for step in first[at : ends[0]]:
        same = next((index for index, other in enumerate(left) if difference(step, other) is None), None)
        if same is None:
            alone.append(step)
        else:
            both.append((step, left.pop(same)))
    first[at : ends[0]] = [*(one for one, _ in both), *alone]
    second[at : ends[1]] = [*(other for _, other in both), *left]


def _end_of_reply(steps: Sequence[TraceStep], at: int) -> int:
    """The end of the calls that one reply asked for, of which the one at `at` is the first; `at` where it is not."""
    reply, end = steps[at].reply, at + 1
    if reply and at and steps[at - 1].reply == reply:
        return at
    while reply and end < min(len(steps), at + MOST_OF_A_REPLY) and steps[end].reply == reply:
        end += 1
    return end


def _of(first: TraceStep | None, second: TraceStep | None) -> StepDifference | None:
    return difference(first, second) if first is not None and second is not None else StepDifference.ENDS


def _aligned(first: Sequence[TraceStep], second: Sequence[TraceStep]) -> list[StepPair]:
    pairs = list[StepPair]()
    matcher = SequenceMatcher(None, [*map(_key, first)], [*map(_key, second)], autojunk=False)
    for tag, start, end, other_start, other_end in matcher.get_opcodes():
        rows = zip_longest(first[start:end], second[other_start:other_end])
        same = tag == "equal"
        pairs += [StepPair(a, b, _of(a, b) if same else StepDifference.STEP) for a, b in rows]
    return pairs


def _key(step: TraceStep) -> tuple[str, str]:
    return plain(step.agent), plain(step.tool)
