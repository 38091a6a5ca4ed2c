"""Rows of open traces, and a judging thread whose judgings take what the test says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from operator import itemgetter

from tracejury.processors.assemble import SECOND, Assembler, AssemblerConfig, TraceKey
from tracejury.processors.life_cycle import is_closed, state_at
from tracejury.processors.open_trace import OpenTrace
from tracejury.processors.schedule import Schedule
from tracejury.schemas.spans import LogRecord, Span

KEY: TraceKey = ("", "a" * 32)
T0 = 1_700_000_000 * SECOND
CONFIG = AssemblerConfig()


def span(
    span_id: str, parent: str = "", *, end: int = 2, flags: int = 0, pending: bool = False, text: str = ""
) -> Span:
    return Span("a" * 32, span_id, parent, span_id, 1, end, {"input.value": text}, flags=flags, pending=pending)


def log(span_id: str, body: str) -> LogRecord:
    return LogRecord("a" * 32, span_id, 1, 1, body=body)


def numbered(number: int) -> TraceKey:
    return ("", f"{number:032x}")


class Scheduled:
    """Open traces and their schedule at `now`, which moves by itself only while something is judged."""

    def __init__(
        self, config: AssemblerConfig = CONFIG, pressed: Callable[[], bool] = lambda: False, now: int = T0
    ) -> None:
        self.now = now
        self.assembler = Assembler(config)
        self.schedule = Schedule(self.assembler, pressed)

    def add(self, key: TraceKey, *spans: Span) -> OpenTrace:
        """Rows of a trace arrive, which the store had none of."""
        rows = [replace(one, trace_id=key[1]) for one in spans]
        trace = self.assembler.add(key, rows, (), self.now, self.now, is_whole=True)
        self.schedule.put(trace)
        return trace

    def grow(self, key: TraceKey = KEY, size: int = 1) -> OpenTrace:
        """More spans of a trace whose root has not ended."""
        trace = self.assembler.get(key)
        known = trace.span_count if trace else 0
        return self.add(key, *(span(f"s{n}", "s0" if n else "", pending=not n) for n in range(known, known + size)))

    def due(self, now: int, limit: int = 100) -> list[TraceKey]:
        """Keys of the traces that are due then; they are put back as if nobody had judged them."""
        taken = self.schedule.take(now, limit)
        for trace in taken:
            trace.taken = False
            self.schedule.put(trace)
        return [trace.key for trace in taken]

    def judge(self, *, cost: int | Callable[[OpenTrace], int] = 0, limit: int = 100) -> list[OpenTrace]:
        """Judge what is due now, each at that cost in nanos, for which time goes on."""
        taken = self.schedule.take(self.now, limit)
        for trace in taken:
            spent = cost if isinstance(cost, int) else cost(trace)
            state = state_at(trace, self.now, self.assembler.config, self.assembler.held_bytes)
            trace.note_judged(state, self.now, spent, trace.arrivals)
            self.now += spent
            self.schedule.judged(trace, self.now)
        self.put_back(taken)
        return taken

    def play(
        self, coming: Iterable[tuple[int, Callable[[], object]]], cost: Callable[[OpenTrace], int], until: int
    ) -> list[tuple[int, TraceKey, int]]:
        """Let these happen at their times, and judge what is due in between; the judgings: begun, trace, cost."""
        left, judged = sorted(coming, key=itemgetter(0)), list[tuple[int, TraceKey, int]]()
        while self.now < until:
            while left and left[0][0] <= self.now:
                left.pop(0)[1]()
            began = self.now
            if taken := self.judge(cost=cost):
                judged += [(began, trace.key, trace.cost) for trace in taken]
            else:
                nexts = [at for at, _ in left[:1]] + [self.schedule.next_due() or until, until]
                self.now = max(min(nexts), began + 1)
        return judged

    def put_back(self, taken: Sequence[OpenTrace]) -> None:
        """Close what was judged to its end, and put the others back."""
        for trace in taken:
            trace.taken = False
            if is_closed(trace):
                self.schedule.closed(trace, self.now)
                self.assembler.discard(trace.key)
            else:
                self.schedule.put(trace)
