"""Open traces in memory: what belongs together, when it is worth judging, and when it is settled.

Pure and bounded: time (unix nanos) is passed in, and everything held here can be read again from the store, so
whatever a limit drops is only marked as *not held* and loaded again when it is due.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from tracejury.schemas.spans import LogRecord, Span
from tracejury.schemas.trajectory import TraceState

from .open_trace import OpenTrace
from .trace_rows import Spill

TraceKey = tuple[str, str]  # (tenant, trace id)

SECOND: Final = 1_000_000_000
UNREAD_SPANS: Final = 30  # what a trace counts whose spans are not in memory
NEWEST_EVERY: Final = 4  # of a backlog every fourth trace judged is the one that became due last
COST_SHARE: Final = 4  # an open trace is judged at most a quarter of the time
LEAST_QUIET: Final = 0.1  # of the configured time, where memory is full
LOOKS: Final = 4  # so often within that time the traces are looked for that settle sooner


@dataclass(frozen=True, slots=True)
class AssemblerConfig:
    """Times in nanoseconds, `max_bytes` in bytes of attribute text."""

    quiet: int = 5 * SECOND
    rootless: int = 600 * SECOND
    max_age: int = 24 * 3600 * SECOND
    coalesce: int = SECOND // 20
    debounce: int = SECOND // 10
    max_bytes: int = 192 * 1024 * 1024
    max_traces: int = 100_000
    max_spans_per_trace: int = 50_000


class Assembler:
    """All open traces. Not thread-safe: one judging thread owns it."""

    def __init__(self, config: AssemblerConfig | None = None, spill: Spill | None = None) -> None:
        """`spill`: where the rows of traces go for which memory has no room."""
        self.config, self._spill = config or AssemblerConfig(), spill
        self.forgotten = 0  # traces dropped at max_traces; the store's sweep finds them again
        self.forgotten_since = 0  # the same since the last sweep
        self.over_limit = 0  # how often a span was left out for `max_spans_per_trace`
        self._traces: OrderedDict[TraceKey, OpenTrace] = OrderedDict()
        self._resident: OrderedDict[TraceKey, None] = OrderedDict()  # those with content, the latest used last
        self._later: list[tuple[int, TraceKey]] = []  # a heap
        self._waiting: deque[tuple[int, TraceKey]] = deque()  # those that have become due, in that order
        self._taken = 0
        self._bytes = 0
        self._next_look = 0  # for traces that settle sooner

    def __len__(self) -> int:
        return len(self._traces)

    @property
    def held_bytes(self) -> int:
        """Approximate bytes of the spans held."""
        return self._bytes

    def get(self, key: TraceKey) -> OpenTrace | None:
        """The open trace of that key, or None."""
        return self._traces.get(key)

    def add(
        self,
        key: TraceKey,
        spans: Iterable[Span],
        logs: Iterable[LogRecord],
        received_at: int,
        now: int,
        *,
        is_whole: bool = False,
    ) -> None:
        """Take newly committed rows of one trace; marks it dirty where they change it.

        `is_whole`: the store has nothing else of it, and nothing was found in it yet.
        """
        is_new = key not in self._traces
        trace = self._touch(key, now)
        if is_new and is_whole:
            trace.held, trace.is_whole, trace.stored, trace.ledger = True, True, {}, {}
        trace.received_through = max(trace.received_through, received_at)
        changed = self._take(trace, spans, logs)
        if changed or not trace.held:
            trace.dirty = True
            trace.arrivals += 1
            trace.last_arrival = max(trace.last_arrival, now)
            trace.quiet = self._quiet()
        self._schedule(trace)
        self._bound()

    def request(self, key: TraceKey, now: int) -> None:
        """Judge this trace (again) from what the store has; what waits for it is the last to be forgotten."""
        trace = self._touch(key, now)
        trace.dirty = trace.forced = True
        trace.arrivals += 1
        trace.held = False
        trace.drop_spilled()
        self._schedule(trace)
        self._bound(keep=key)

    def fill(self, key: TraceKey, spans: Sequence[Span], logs: Sequence[LogRecord], last_arrival: int) -> None:
        """Complete a trace that is not held with what the store has (`last_arrival`: unix nanos of its newest row)."""
        trace = self._traces.get(key)
        if trace is None:
            return
        self._take(trace, spans, logs)
        trace.held = True
        trace.received_through = max(trace.received_through, last_arrival)
        if trace.forced:
            trace.last_arrival = last_arrival
            trace.first_arrival = min(trace.first_arrival, last_arrival)
        self._schedule(trace)
        self._bound(keep=key)

    def read_spilled(self, trace: OpenTrace) -> None:
        """Have a trace held again whose rows were spilled."""
        before = trace.size
        rows = None if trace.held else trace.take_spilled()
        self._bytes += trace.size - before
        if rows is not None:
            self._take(trace, *rows)
            trace.held = True

    def mark_complete(self, key: TraceKey) -> None:
        """The store has nothing beyond what was added: the trace is complete as it is."""
        trace = self._traces.get(key)
        if trace is not None:
            trace.held = True
            self._schedule(trace)

    def due(self, now: int, limit: int, spans: int = 1000) -> list[OpenTrace]:
        """Traces whose judging is due; each must be answered by `mark_judged`.

        At most `limit` of them, and no more once they have `spans` spans. Where more than `limit` wait, some are those
        that became due last, so that new findings need not wait for a backlog; the others are the longest due. An
        expensive one comes alone: the others' findings must not wait for it to be stored.
        """
        self._settle_sooner(now)
        while self._later and self._later[0][0] <= now:
            self._waiting.append(heapq.heappop(self._later))
        ready: list[OpenTrace] = []
        seen: set[TraceKey] = set()
        weight = 0
        while self._waiting and len(ready) < limit and weight < spans:
            newest = len(self._waiting) > limit and self._taken % NEWEST_EVERY == 0
            _, key = self._waiting[-1 if newest else 0]
            trace = self._traces.get(key)
            # Else it is gone, or this is an older entry of a trace that was scheduled again.
            is_due = trace is not None and key not in seen and not trace.is_apart and self._due_at(trace) <= now
            if trace is not None and is_due and trace.is_large and ready:
                break
            if newest:
                self._waiting.pop()
            else:
                self._waiting.popleft()
            if trace is None or not is_due:
                continue
            self._taken += 1
            trace.quiet = min(trace.quiet, self._quiet())  # else one that is late is judged as open, and once more
            seen.add(key)
            ready.append(trace)
            if trace.is_large:
                break
            weight += trace.span_count or UNREAD_SPANS
        return ready

    def next_due(self) -> int | None:
        """When the next trace may be due (unix nanos), or None."""
        first = self._waiting or self._later
        return first[0][0] if first else None

    def state(self, trace: OpenTrace, now: int) -> TraceState:
        """Open, settled (its root has ended and it is quiet), or incomplete (given up waiting for a root)."""
        if now < self._settles_at(trace):
            return TraceState.OPEN
        return TraceState.SETTLED if trace.root_ended() else TraceState.INCOMPLETE

    def mark_judged(
        self, trace: OpenTrace, state: TraceState, now: int, cost: int, arrivals: int | None = None
    ) -> None:
        """Note that the trace was judged in that state, at a cost in nanos; a closed trace is forgotten.

        `arrivals`: as many as were judged; where there were more since, it stays open and is judged again.
        """
        trace.last_judged, trace.cost = now, cost
        has_more = arrivals is not None and trace.arrivals != arrivals
        if not has_more:
            trace.dirty = trace.forced = False
        if state is TraceState.OPEN or has_more:
            self._schedule(trace)
        else:
            self.discard(trace.key)

    def discard(self, key: TraceKey) -> None:
        """Drop a trace from memory."""
        trace = self._traces.pop(key, None)
        if trace is not None:
            self._bytes -= trace.size
            self._resident.pop(key, None)
            trace.drop_spilled()

    def _touch(self, key: TraceKey, now: int) -> OpenTrace:
        trace = self._traces.get(key)
        if trace is None:
            trace = self._traces[key] = OpenTrace(key, first_arrival=now, last_arrival=now, quiet=self._quiet())
        else:
            self._traces.move_to_end(key)
        return trace

    def _take(self, trace: OpenTrace, spans: Iterable[Span], logs: Iterable[LogRecord]) -> bool:
        before = trace.size
        limit = self.config.max_spans_per_trace
        changed = trace.add_logs(logs)
        for span in spans:
            if len(trace.raw) < limit or span.span_id in trace.raw:
                changed |= trace.add_span(span)
            else:
                self.over_limit += 1
        self._bytes += trace.size - before
        self._resident[trace.key] = None
        self._resident.move_to_end(trace.key)
        return changed

    def _quiet(self) -> int:
        """How long a trace waits for more: less where memory is more than half full.

        Else the traces that wait would have to be spilled, and judged whole once more when they settle.
        """
        room = 2 * (1 - self._bytes / self.config.max_bytes)
        return round(self.config.quiet * min(max(room, LEAST_QUIET), 1))

    def _settle_sooner(self, now: int) -> None:
        """Have ended traces settle sooner that came while memory had more room."""
        quiet = self._quiet()
        if now < self._next_look or quiet >= self.config.quiet:
            return
        self._next_look = now + quiet // LOOKS
        for trace in map(self._traces.__getitem__, self._resident):
            if trace.last_arrival + quiet > now:
                break  # the others came later
            if quiet < trace.quiet and trace.root_ended():
                trace.quiet = quiet
                self._schedule(trace)

    def _settles_at(self, trace: OpenTrace) -> int:
        c = self.config
        wait = trace.quiet if trace.root_ended() else c.rootless
        return min(trace.last_arrival + wait, trace.first_arrival + c.max_age)

    def _due_at(self, trace: OpenTrace) -> int:
        if not trace.dirty:
            return self._settles_at(trace)
        c = self.config
        if not trace.last_judged:
            return trace.last_arrival if trace.forced else trace.first_arrival + c.coalesce
        return max(trace.last_arrival, trace.last_judged + max(c.debounce, COST_SHARE * trace.cost))

    def schedule(self, trace: OpenTrace) -> None:
        """Have `due` look at it again, where it is still open here."""
        if self._traces.get(trace.key) is trace:
            self._schedule(trace)

    def _schedule(self, trace: OpenTrace) -> None:
        heapq.heappush(self._later, (self._due_at(trace), trace.key))

    def _bound(self, keep: TraceKey | None = None) -> None:
        while self._bytes > self.config.max_bytes and (key := self._least_recent(keep)) is not None:
            trace = self._traces[key]
            self._bytes -= trace.size
            del self._resident[key]
            trace.release(self._spill)
        while len(self._traces) > self.config.max_traces:
            unasked = (t.key for t in self._traces.values() if not t.forced and t.key != keep)
            self.discard(next(unasked, next(iter(self._traces))))
            self.forgotten += 1
            self.forgotten_since += 1

    def _least_recent(self, keep: TraceKey | None) -> TraceKey | None:
        return next((key for key in self._resident if key != keep and not self._traces[key].is_apart), None)
