"""Committed rows to open traces.

Pure: time (unix nanos) is passed in, and everything held here can be read again from the store. When a trace is judged
is in schedule.py, what settles it in life_cycle.py.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from tracejury.schemas.spans import LogRecord, Span

from .open_trace import OpenTrace
from .trace_rows import TraceRows

TraceKey = tuple[str, str]  # (tenant, trace id)

SECOND: Final = 1_000_000_000


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
    """All open traces. Not thread-safe: one judging thread at a time works with it."""

    def __init__(self, config: AssemblerConfig | None = None) -> None:
        self.config = config or AssemblerConfig()
        self.over_limit = 0  # how often a span was left out for `max_spans_per_trace`
        self.held_bytes = 0  # approximate bytes of the rows in memory
        self.traces: OrderedDict[TraceKey, OpenTrace] = OrderedDict()  # that which was touched last at the end
        self.resident: OrderedDict[TraceKey, OpenTrace] = OrderedDict()  # those with rows in memory, likewise

    def __len__(self) -> int:
        return len(self.traces)

    def get(self, key: TraceKey) -> OpenTrace | None:
        """The open trace of that key, or None."""
        return self.traces.get(key)

    def is_open(self, trace: OpenTrace) -> bool:
        """Whether the trace is still open here, neither closed nor deleted, nor begun anew."""
        return self.traces.get(trace.key) is trace

    def add(
        self,
        key: TraceKey,
        spans: Iterable[Span],
        logs: Iterable[LogRecord],
        received_at: int,
        now: int,
        *,
        is_whole: bool = False,
    ) -> OpenTrace:
        """Take newly committed rows of one trace, which makes it dirty where they change it.

        `is_whole`: if the trace is new, the store has nothing else of it, and nothing was found in it yet.
        """
        is_new = key not in self.traces
        trace = self._touch(key, now)
        if is_new and is_whole:
            trace.held, trace.is_whole, trace.stored, trace.ledger = True, True, {}, {}
        trace.received_through = max(trace.received_through, received_at)
        if self._take(trace, spans, logs) or not trace.held:
            trace.arrivals += 1
            trace.last_arrival = max(trace.last_arrival, now)
        return trace

    def request(self, key: TraceKey, now: int) -> OpenTrace:
        """Have a trace judged (again) from what the store has."""
        trace = self._touch(key, now)
        trace.forced, trace.held = True, False
        trace.arrivals += 1
        return trace

    def fill(
        self,
        trace: OpenTrace,
        spans: Iterable[Span],
        logs: Iterable[LogRecord],
        received: int | None = None,
        last_arrival: int = 0,
    ) -> None:
        """Complete a trace, perhaps one that is not open here, with what was read of it.

        `received`: of the newest row, where it was read from the store. `last_arrival`: when that came by our clock,
        which may not be the one of its receiver.
        """
        self._take(trace, spans, logs)
        trace.held = True
        if received is None:
            return
        trace.received_through = max(trace.received_through, received)
        last_arrival = last_arrival or received
        if trace.forced:
            trace.last_arrival = last_arrival
            trace.first_arrival = min(trace.first_arrival, last_arrival)

    def release(self, trace: OpenTrace) -> TraceRows:
        """Drop the rows of a trace from memory; returns them."""
        self.held_bytes -= trace.size
        self.resident.pop(trace.key, None)
        return trace.release()

    def discard(self, key: TraceKey) -> None:
        """Forget a trace."""
        trace = self.traces.pop(key, None)
        if trace is not None:
            self.held_bytes -= trace.size
            self.resident.pop(key, None)

    def _touch(self, key: TraceKey, now: int) -> OpenTrace:
        trace = self.traces.get(key)
        if trace is None:
            trace = self.traces[key] = OpenTrace(key, first_arrival=now, last_arrival=now)
        self.traces.move_to_end(key)
        return trace

    def _take(self, trace: OpenTrace, spans: Iterable[Span], logs: Iterable[LogRecord]) -> bool:
        before, limit = trace.size, self.config.max_spans_per_trace
        changed = trace.add_logs(logs)
        for span in spans:
            if len(trace.raw) < limit or span.span_id in trace.raw:
                changed |= trace.add_span(span)
            else:
                self.over_limit += 1
        if self.is_open(trace):
            self.held_bytes += trace.size - before
            self.resident[trace.key] = trace
            self.resident.move_to_end(trace.key)
        return changed
