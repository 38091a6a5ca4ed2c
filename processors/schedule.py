"""When each open trace is judged, and which of those that are due come next.

A new trace is due after a moment in which its spans come together, an open one when something new came and its last
judgings are paid for, and any trace when it settles. Judging is a whole computation, so what bounds its cost is time:
a judging is paid for after `COST_SHARE` times as long as it took, longer under pressure. So a live trace never takes
more than a tenth of a core, however many batches it comes in; a cheap one, which may be ahead by `CREDIT`, is judged at
once.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from .assemble import SECOND, Assembler, TraceKey
from .life_cycle import quiet, settles_at
from .open_trace import OpenTrace

COST_SHARE: Final = 10
"""The time for which a judging pays, in units of its CPU time."""
CREDIT: Final = SECOND // 2
"""A trace is due this long before its last judgings are paid for: 50 ms of CPU time."""
PRESSED: Final = 4
"""So many times `COST_SHARE` while clients wait for the store; and it doubles with each second of lag."""

STEP_SPANS: Final = 1000
"""Once a batch has so many spans it takes no further trace."""
UNREAD_SPANS: Final = 30
"""What a trace counts whose spans are not in memory."""
NEWEST_EVERY: Final = 4
"""Of a backlog every fourth trace taken is the one that became due last: new findings need not wait for its end."""
LOOKS: Final = 4
"""So often within the time of quiet the traces are looked for that settle sooner, since memory fills."""

STEP_BACK: Final = 12
"""While clients wait for the store, judging rests so many times as long as its last step took."""
MAX_REST: Final = 2 * SECOND
MAX_LAG: Final = 4 * SECOND
"""Findings are never later than this for the sake of acknowledgements alone."""
ROOM_SHARE: Final = 7 / 8
"""Of the memory of open traces, up to which it rests."""


class Schedule:
    """The open traces of `assembler` in the order in which they are to be judged. Not thread-safe, as that.

    A trace that is `taken` is being judged: it is not taken again before it was `put` back. Large ones have a lane of
    their own, from which one is taken at a time, and alone: small ones never wait for it where there is a second
    thread. `pressed`: whether clients wait for the store just now.
    """

    def __init__(self, assembler: Assembler, pressed: Callable[[], bool] = lambda: False) -> None:
        self._assembler, self._pressed = assembler, pressed
        self._later: list[tuple[int, TraceKey]] = []  # a heap; an entry counts where it is its trace's `due`
        self._small: OrderedDict[TraceKey, int] = OrderedDict()  # those that have become due, in that order
        self._large: OrderedDict[TraceKey, int] = OrderedDict()
        self._large_taken: OpenTrace | None = None
        self._unpaid: dict[TraceKey, int] = {}  # closed traces, and until when their judgings are not paid for
        self._turn = self._next_look = self._rest_until = 0

    def put(self, trace: OpenTrace) -> None:
        """Have the trace judged when it is due, after each change of it."""
        if trace.taken or not self._assembler.is_open(trace) or trace.key in self._small or trace.key in self._large:
            return
        if not trace.last_judged and (unpaid := self._unpaid.pop(trace.key, 0)):
            trace.paid_until = unpaid
        # Whether the roots have ended takes a look at all spans; it is looked at when the entry comes up.
        due = self._due_at(trace, is_ended=True if trace.dirty else None)
        if trace.due is None or due < trace.due:  # where it is later now, that is seen then, too
            self._enter(trace, due)

    def take(self, now: int, limit: int) -> list[OpenTrace]:
        """Traces whose judging is due: one large one, or at most `limit` small ones; each is `put` again afterwards."""
        self._settle_sooner(now)
        self._become_due(now)
        first, large = _first(self._small), _first(self._large)
        if large is not None and not self._is_large_taken() and (first is None or large <= first):
            lane, limit = self._large, 1
        else:
            lane = self._small
        batch: list[OpenTrace] = []
        weight = 0
        while lane and len(batch) < limit and weight < STEP_SPANS:
            newest = len(lane) > limit and self._turn % NEWEST_EVERY == 0 and lane is self._small
            trace = self._assembler.get(lane.popitem(last=newest)[0])
            if trace is None:
                continue
            if (due := self._due_at(trace)) > now:  # something came that put it off
                self._enter(trace, due)
                continue
            trace.due = None
            self._turn += 1
            trace.taken = True
            batch.append(trace)
            weight += trace.span_count or UNREAD_SPANS
        if lane is self._large and batch:
            self._large_taken = batch[0]
        return batch

    def judged(self, trace: OpenTrace, now: int) -> None:
        """Charge the trace for its last judging."""
        share = COST_SHARE * (PRESSED if self._pressed() else 1) * (1 + self.lag(now) / SECOND)
        trace.paid_until = max(trace.paid_until, now) + round(share * trace.cost)

    def closed(self, trace: OpenTrace, now: int) -> None:
        """The trace is forgotten: if it is opened again, it waits until what it cost is paid for."""
        self._unpaid = {key: until for key, until in self._unpaid.items() if until > now}
        if trace.paid_until - CREDIT > now:
            self._unpaid[trace.key] = trace.paid_until

    def next_due(self) -> int | None:
        """When the next trace may be due (unix nanos), or None."""
        firsts = [_first(self._small), None if self._is_large_taken() else _first(self._large)]
        firsts += [at for at, _ in self._later[:1]]
        return min((at for at in firsts if at is not None), default=None)

    def lag(self, now: int) -> int:
        """For how long the trace that is due first has waited (nanos)."""
        due = self.next_due()
        return 0 if due is None else max(now - due, 0)

    def worked(self, now: int, nanos: int) -> None:
        """Note a step that took so many nanos of CPU time: judging rests after it, where clients wait."""
        self._rest_until = now + min(STEP_BACK * nanos, MAX_REST)

    def rests(self, now: int, lag: int) -> bool:
        """Whether judging steps back for clients that wait for the store: nothing is late, and memory has room.

        `lag`: nanos for which anything has waited. A rest that was ended does not go on.
        """
        rests = now < self._rest_until and lag < MAX_LAG and self.has_room() and self._pressed()
        if not rests:
            self._rest_until = now
        return rests

    def has_room(self) -> bool:
        """Whether memory has room for more: what has none would be written to files, and read back."""
        return self._assembler.held_bytes < ROOM_SHARE * self._assembler.config.max_bytes

    def _enter(self, trace: OpenTrace, due: int) -> None:
        trace.due = due
        heapq.heappush(self._later, (due, trace.key))

    def _due_at(self, trace: OpenTrace, *, is_ended: bool | None = None) -> int:
        config, paid = self._assembler.config, trace.paid_until - CREDIT
        if trace.dirty and not trace.last_judged:
            return trace.last_arrival if trace.forced else max(trace.first_arrival + config.coalesce, paid)
        settles = settles_at(trace, config, self._assembler.held_bytes, is_ended=is_ended)
        if (
            is_ended is None and not trace.lacks() <= trace.sought
        ):  # once it is quiet they are looked for in other traces
            settles = min(settles, max(trace.last_arrival + quiet(config, self._assembler.held_bytes), paid))
        if not trace.dirty:
            return settles
        return min(max(trace.last_arrival, trace.last_judged + config.debounce, paid), settles)

    def _become_due(self, now: int) -> None:
        while self._later and self._later[0][0] <= now:
            due, key = heapq.heappop(self._later)
            trace = self._assembler.get(key)
            if trace is None or trace.due != due:
                continue
            if trace.taken:  # with one that it is one with: it is put again afterwards, and then has no entry
                trace.due = None
                continue
            if (exact := self._due_at(trace)) > now:
                self._enter(trace, exact)
            else:
                (self._large if trace.is_large else self._small)[key] = due

    def _settle_sooner(self, now: int) -> None:
        """Put ended traces earlier that came while memory had more room."""
        wait = quiet(self._assembler.config, self._assembler.held_bytes)
        if now < self._next_look or wait >= self._assembler.config.quiet:
            return
        self._next_look = now + wait // LOOKS
        for trace in self._assembler.resident.values():
            if trace.last_arrival + wait > now:
                break  # the others came later
            self.put(trace)

    def _is_large_taken(self) -> bool:
        trace = self._large_taken
        return trace is not None and trace.taken and self._assembler.is_open(trace)


def _first(lane: OrderedDict[TraceKey, int]) -> int | None:
    return next(iter(lane.values()), None)
