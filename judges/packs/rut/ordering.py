"""The order of an oracle's steps: one call for each of them, such that what must come first does."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from math import inf
from typing import Final

from tracejury.judges.packs.cards.oracle import OracleStep

from .calls import OracleCall
from .oracle_case import OracleCase

MOST_CHOICES: Final = 100
"""Choices that are followed side by side; of seven calls there are 35 at most."""


@dataclass(frozen=True, slots=True)
class EarlyCall:
    """A call that came before one that must come first; `reason`: one sentence."""

    call: OracleCall
    reason: str


@dataclass(frozen=True, slots=True)
class _Choice:
    """`calls`: the position of its call by that of the step. `early`: how many of them came too early."""

    calls: Mapping[int, int]
    early: int = 0


def early_calls(case: OracleCase, *, over: bool) -> list[EarlyCall]:
    """The calls that came too early, by the choice that has the fewest. `over`: no read comes again.

    A choice gives each step one of the calls that it matches, and each call to one step; writes have the calls that
    `assign` matched. A step is ready when all that must come before it, directly or through other steps, has calls that
    started earlier. Calls are gone through by their start: a write takes its call, ready or not, and a read the first
    call for which it is ready. That loses nothing: what may follow a later call may follow this one. So choices differ
    only in which of several steps takes a call, and all are followed; beyond `MOST_CHOICES` those are left in which
    the step comes first that a write follows soonest.
    """
    if not case.oracle.order:
        return []
    order = _Order(case, over)
    return [*order.early(min(order.choices(), key=lambda one: (-len(order.met(one)) * over, one.early)))]


@dataclass(frozen=True)
class _Order:
    case: OracleCase
    over: bool

    @property
    def steps(self) -> Sequence[OracleStep]:
        return self.case.oracle.ordered

    @cached_property
    def used(self) -> frozenset[int]:
        """The calls that are matched with a step."""
        return frozenset(self.case.matched.values())

    @cached_property
    def writes(self) -> list[bool]:
        return [self.case.writes(step.tool) for step in self.steps]

    @cached_property
    def before(self) -> list[frozenset[int]]:
        """By step, all that must come before it; the steps stand in such an order."""
        found: dict[str, frozenset[int]] = {}
        numbers = {step.id: n for n, step in enumerate(self.steps)}
        direct = defaultdict[str, set[str]](set)
        for first, second in self.case.oracle.order:
            direct[second].add(first)
        for name in numbers:
            found[name] = frozenset(numbers[one] for one in direct[name]).union(*(found[one] for one in direct[name]))
        return [*found.values()]

    @cached_property
    def calls_of(self) -> list[list[int]]:
        """By step, the calls that it may take; for one without a match, unused ones of its tool stand in."""
        found: list[list[int]] = [[] for _ in self.steps]
        for call, fits in enumerate(self.case.fits):
            for n in fits:
                if call in self.used or not self.writes[n]:
                    found[n].append(call)
        spare = [(n, call) for n, call in enumerate(self.case.calls) if n not in self.used and call.ran]
        for n, step in enumerate(self.steps):
            if step.id not in self.case.matched:
                found[n] = sorted({*found[n], *(call for call, one in spare if one.tool == step.tool)})
        return found

    @cached_property
    def steps_of(self) -> Mapping[int, list[int]]:
        """By call, the steps that may take it, first the one that a write follows soonest."""
        due = [inf] * len(self.writes)
        for n, calls in enumerate(self.calls_of):
            for one in self.before[n] if self.writes[n] and calls else ():
                due[one] = min(due[one], self.start(calls[0]))
        found = defaultdict[int, list[int]](list)
        for n in sorted(range(len(due)), key=due.__getitem__):
            for call in self.calls_of[n]:
                found[call].append(n)
        return found

    def start(self, call: int) -> int:
        return self.case.calls[call].start

    def choices(self) -> Iterable[_Choice]:
        """Those that there are of the calls so far."""
        choices = [_Choice({})]
        for _, together in groupby(sorted(self.steps_of, key=self.start), key=self.start):
            going = [(one.calls, one) for one in choices]
            for call in together:
                distinct: dict[object, tuple[Mapping[int, int], _Choice]] = {}
                for begun, now in going:
                    for after in self._after(begun, now, call):
                        key = (frozenset(begun), frozenset(after.calls))
                        if key not in distinct or distinct[key][1].early > after.early:
                            distinct[key] = (begun, after)
                    if len(distinct) >= MOST_CHOICES:
                        break
                going = [*distinct.values()] or going
            choices = [one for _, one in going]
        return choices

    def _after(self, begun: Mapping[int, int], now: _Choice, call: int) -> Iterator[_Choice]:
        """What one more call makes of a choice. `begun`: the calls that started before it."""
        free = [n for n in self.steps_of[call] if n not in now.calls]
        ready = [n for n in free if self.before[n] <= begun.keys()]
        writing = self.case.writes(self.case.calls[call].tool)
        taking = [*ready, *(n for n in free if n not in ready)] if writing else ready
        if not taking and not (writing and call in self.used):
            yield now
        for n in taking:
            yield _Choice({**now.calls, n: call}, now.early + (n not in ready))

    def met(self, choice: _Choice) -> set[int]:
        """The steps whose calls match them."""
        return {n for n, call in choice.calls.items() if n in self.case.fits[call]}

    def early(self, choice: _Choice) -> Iterator[EarlyCall]:
        """What came too early; a read that never came in time by its first call, unless a write tells of it."""
        told = set[int]()
        for n, call in choice.calls.items():
            if late := self._late(choice, n, call):
                told.update(late)
                yield self._told(n, call, late)
        lacking = len(self.met(choice)) < len(self.case.matched)
        for n, calls in enumerate(self.calls_of):
            if self.over and calls and n not in choice.calls and n not in told:
                late = self._late(choice, n, calls[0])
                if late or lacking:
                    yield self._told(n, calls[0], late)

    def _late(self, choice: _Choice, n: int, call: int) -> list[int]:
        """The steps that must come before one and do not, in their order."""
        met = self.met(choice) if self.over and self.case.oracle.strict_edges else None

        def holds(first: int) -> bool:
            if met is not None and not met >= {first, n}:
                return False
            return first in choice.calls and self.start(choice.calls[first]) < self.start(call)

        return [first for first in sorted(self.before[n]) if not holds(first)]

    def _told(self, n: int, call: int, late: list[int]) -> EarlyCall:
        step, first = self.steps[n], self.steps[late[0]] if late else None
        told = f"comes before {first.tool} ({first.id})" if first else "is not called once more"
        return EarlyCall(self.case.calls[call], f"{step.tool} ({step.id}) {told}.")
