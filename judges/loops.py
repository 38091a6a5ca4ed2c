"""Calls that are made again and again: one call, or a cycle of up to five calls, with the same outcome each time.

docs/detectors.md, "Loops". A run's answered calls are read in their order, and whether one of them completes a loop
follows from it and those before it alone: nothing that comes later takes a loop back. A call that waits for its answer
is not looked at yet. Calls that a harness turned down end no loop of others; in a row they are a sequence of their own.

Two calls are the same where tool and arguments are, but for what tells when and by whom they were made: times around
that of the call, and ids that the run was not given. An outcome may differ in such times and ids, too. What several
records of one reply ask for under one call id is one call. Where no arguments are recorded, calls of one tool that fail
in the same way are the same if each began after the one before had failed.

Waiting for something is a good reason to ask again: for a while where the tool's name or its answer says so, for long
where the agent waits before it asks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import pairwise
from typing import Final

from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.trajectory import TurnKind

from .facts import CallFacts, RunFacts, TurnFacts
from .names import Role, words_of
from .quoting import json_text
from .wording import WORDINGS, holds_any

LONGEST_CYCLE: Final = 5
"""Calls of one cycle."""
ROUNDS: Final = 3
"""Equal rounds in a row that are a loop."""
NAMED_POLLS: Final = 5
"""Equal rounds of a call that are a loop, where its name says that something is waited for."""
POLLS: Final = 10
"""Those where its answer says so."""
LONG_POLLS: Final = 60
"""Those where the agent itself waits between them."""
PAUSE: Final = 5_000_000_000
"""Nanoseconds between an answer and the next call of the model that are a wait."""


@dataclass(frozen=True)
class LoopCall:
    """An answered call; `outcome`: its result, or the text of its failure; `given`: ids that its run was given."""

    turn: TurnFacts
    call: CallFacts
    outcome: str
    given: _GivenIds

    @property
    def span_id(self) -> str:
        """Where it was asked for; where the model's call has no span, its own."""
        own = self.call.call.span
        return self.turn.span_id or (own.span_id if own is not None else "")

    @property
    def start(self) -> int:
        """When it was asked for, or made (unix nanos); 0 where no span tells."""
        span = self.turn.turn.llm or self.call.call.span
        return span.raw.start if span is not None else 0

    @cached_property
    def told_arguments(self) -> str:
        """Its arguments without what only tells when and by whom it was made."""
        return self._told(
            json_text(self.call.call.arguments), lambda found: self.given.until(found, self.turn.position)
        )

    @cached_property
    def told_outcome(self) -> str:
        """Its outcome likewise, without any ids."""
        return self._told(self.outcome, lambda _: False)

    def _told(self, text: str, stays: Callable[[str], bool]) -> str:
        """A text without the call's own id, times around that of the call, and ids but those that stay."""
        return without_ids_and_times(text, self.start, self.call.call.call_id, stays)


def ids_of(text: str) -> list[str]:
    """The ids in a text: UUIDs, and hexadecimal digits of random numbers."""
    return _ID.findall(text)


def without_ids_and_times(text: str, at: int, call_id: str, stays: Callable[[str], bool]) -> str:
    """A short text without the id of its call, times around `at` (unix nanos), and ids but those that stay."""
    if len(text) > _SEARCHED:
        return text
    if len(call_id) >= _TELLING_ID:
        text = text.replace(call_id, "")
    text = _ID.sub(lambda found: found[0] if stays(found[0]) else "", text)
    return _TIME.sub(lambda found: "" if _is_now(found[0], at) else found[0], text)


@dataclass(frozen=True)
class _GivenIds:
    """The ids that a run was given: in its goal, in what it was sent, and in results of its calls."""

    facts: RunFacts

    def until(self, own: str, position: int) -> bool:
        """Whether it may have been given this one when the turn at that position began; without a record it may."""
        return not self._recorded or self._first.get(own, position + 1) <= position

    @cached_property
    def _recorded(self) -> bool:
        return any(turn.turn.new_messages for turn in self.facts.turns)

    @cached_property
    def _first(self) -> Mapping[str, int]:
        """By id, the position of the turn that knew it first; read once, since hostile runs hold many."""
        first: dict[str, int] = {}
        told = [(0, self.facts.run.goal)]
        for turn in self.facts.turns:
            told += [(turn.position, m.text) for m in turn.turn.new_messages if m.role != "assistant"]
            told += [(turn.position + 1, call.result) for call in turn.turn.tool_calls if call.result]
        for position, text in told:
            for found in _ID.finditer(text):
                first[found[0]] = min(first.get(found[0], position), position)
        return first


@dataclass(slots=True)
class Loop:
    """A loop: the calls of its first rounds, up to the one that made it a loop, and all that repeat them after it."""

    period: int
    calls: tuple[LoopCall, ...]
    again: list[LoopCall] = field(default_factory=list)

    @property
    def rounds(self) -> int:
        """Equal rounds so far."""
        return (len(self.calls) + len(self.again)) // self.period

    @property
    def cycle(self) -> tuple[LoopCall, ...]:
        """The calls of one round."""
        return self.calls[-self.period :]

    @property
    def records(self) -> bool:
        """Whether the arguments of its calls are recorded."""
        return all(one.call.call.arguments not in _UNRECORDED for one in self.cycle)

    @property
    def fails(self) -> bool:
        """Whether each of its calls fails."""
        return all(one.call.failure is not None for one in self.cycle)


def loops(facts: RunFacts) -> Iterator[Loop]:
    """The loops of a run, in order of the calls that made them one (for `RunFacts.once`)."""
    given = _GivenIds(facts)
    carried_out, turned_down = list[LoopCall](), list[list[LoopCall]]([[]])
    replied: dict[str, int] = {}  # by call id, when the reply that asked for the call ended
    for turn in facts.turns:  # also those where the model's call has no span
        reply = turn.turn.llm.raw if turn.turn.llm is not None else None
        for call in turn.calls if turn.turn.kind is TurnKind.ACT else ():
            outcome = call.failure.text if call.failure is not None else call.call.result
            placed = turn.span_id or call.call.span is not None
            if not placed or call.role is not Role.ACCESS or outcome is None:
                continue
            if call.call.arguments in _UNRECORDED and call.failure is None:  # equal names and results say nothing
                continue
            if reply is not None and (call_id := call.call.call_id):
                if reply.start < replied.get(call_id, reply.start):
                    continue
                replied[call_id] = reply.end
            one = LoopCall(turn, call, outcome, given)
            if call.refusal is not None:
                turned_down[-1].append(one)
            else:
                carried_out.append(one)
                turned_down.append([])
    for row in (carried_out, *turned_down):
        yield from _loops(row)


def _loops(calls: Sequence[LoopCall]) -> Iterator[Loop]:
    found: list[Loop] = []
    equal = dict.fromkeys(range(1, LONGEST_CYCLE + 1), 0)  # calls in a row that equal the one so many before
    for at, one in enumerate(calls):
        for period in equal:
            equal[period] = equal[period] + 1 if at >= period and _same(calls[at - period], one) else 0
        period = next((p for p, in_row in equal.items() if in_row >= (ROUNDS - 1) * p), 0)
        if not period:
            continue
        known = next((loop for loop in found if any(_same(own, one) for own in loop.cycle)), None)
        if known is not None:
            known.again.append(one)
        elif not _waits(row := calls[at + 1 - period - equal[period] : at + 1], period):
            found.append(Loop(period, tuple(row)))
    yield from found


def _same(one: LoopCall, other: LoopCall) -> bool:
    a, b = one.call.call, other.call.call
    if a.name != b.name or (one.call.failure is None) != (other.call.failure is None):
        return False
    if a.arguments in _UNRECORDED and not _after(a.span, b.span):
        return False
    if one.outcome != other.outcome and (
        abs(len(one.outcome) - len(other.outcome)) > _STAMPS or one.told_outcome != other.told_outcome
    ):
        return False
    return a.arguments == b.arguments or one.told_arguments == other.told_arguments


def _after(one: NormalizedSpan | None, other: NormalizedSpan | None) -> bool:
    """Whether a call was made once the one before had failed: calls at the same time may be about different things."""
    return one is not None and other is not None and one.raw.end <= other.raw.start


_UNRECORDED: Final = (None, "")
_STAMPS: Final = 64
"""Characters by which outcomes may differ in length through ids and times."""
_SEARCHED: Final = 4000
"""Characters of a text in which ids and times are looked for; longer ones are the same only as they stand."""
_TELLING_ID: Final = 8
_ID: Final = re.compile(
    r"\b(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{16,64})\b",
    re.IGNORECASE,
)
"""A UUID, or hexadecimal digits of a random number."""
_TIME: Final = re.compile(
    r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?: ?(?:Z|[+-]\d\d:?\d\d))?"
    r"|\b1\d{9}(?:\.\d{1,9}|\d{3}|\d{6}|\d{9})?\b"
)
"""A date with a time of day, or seconds, milli-, micro- or nanoseconds since 1970."""
_AROUND: Final = 15 * 60
"""Seconds from a call within which a time tells when it was made; more hours where the text names no zone."""
_DAY: Final = 14 * 3600


def _is_now(text: str, at: int) -> bool:
    """Whether a text names a time around `at` (unix nanos); in a zone that it does not name, to the minutes."""
    seconds = at / 1e9
    if text[4] != "-":
        return abs(int(text[:10]) - seconds) <= _AROUND
    try:
        named = datetime.fromisoformat(text.replace(",", ".").replace(" +", "+").replace(" -", "-"))
    except ValueError:
        return False
    if named.tzinfo is not None:
        return abs(named.timestamp() - seconds) <= _AROUND
    apart = abs((named - datetime(1970, 1, 1)).total_seconds() - seconds)  # noqa: DTZ001  zones are off by quarters
    return apart <= _DAY and min(apart % 900, 900 - apart % 900) <= _ZONELESS


_ZONELESS: Final = 120


def _waits(row: Sequence[LoopCall], period: int) -> bool:
    """Whether equal rounds have a good reason: something is waited for, and not for too long."""
    rounds, last = len(row) // period, row[-period:]
    if any(map(_says_pending, last)):
        return rounds < POLLS or (rounds < LONG_POLLS and _pauses(row, period))
    if rounds < NAMED_POLLS and any(_is_named_so(one) and one.call.failure is None for one in last):
        return True
    return rounds < LONG_POLLS and _pauses(row, period)


def _says_pending(one: LoopCall) -> bool:
    """Whether a short answer says that something is not ready yet."""
    words, low = WORDINGS["loops"], one.outcome.lower()
    if len(low) > _SHORT:
        return False
    return holds_any(low, words["unready"]) or (one.call.failure is None and holds_any(low, words["pending"]))


_SHORT: Final = 500


def _is_named_so(one: LoopCall) -> bool:
    return not _WAITING.isdisjoint(words_of(one.call.call.name))


_WAITING: Final = frozenset(WORDINGS["loops"]["waiting"])


def _pauses(row: Sequence[LoopCall], period: int) -> bool:
    """Whether the agent waits in each round."""
    rounds = [row[at : at + period + 1] for at in range(0, len(row) - period, period)]
    return all(any(_pause(*two) for two in pairwise(one)) for one in rounds)


def _pause(one: LoopCall, following: LoopCall) -> bool:
    """Whether there is a wait between an answer and the next call of the model, or the call itself was to wait."""
    own, asked = one.call.call.span, one.turn.turn.llm
    answered = own or asked
    if answered is None or not following.start:
        return False
    slept = own is not None and own.raw.end - own.raw.start >= PAUSE and _is_named_so(one)
    return slept or following.start - answered.raw.end >= PAUSE
