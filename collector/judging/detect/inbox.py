"""Between commit and judging: a bounded inbox that never blocks the writer.

Beyond its bound it keeps only *which* traces changed; their spans are read from the store when they are judged.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from ....processors.assemble import TraceKey
from ....schemas.batch import Batch
from ....schemas.spans import LogRecord, Span
from ...worker.wake_event import WakeEvent


@dataclass(slots=True)
class Arrivals:
    """Rows of one trace in one batch."""

    spans: list[Span] = field(default_factory=list)
    logs: list[LogRecord] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class TakenBatches:
    """The result of one `Inbox.take`.

    `asked`: traces to judge (again) from the store; `gone`: traces that were deleted and must be forgotten first.
    """

    batches: Sequence[tuple[Batch, int]]
    asked: frozenset[TraceKey]
    gone: frozenset[TraceKey] = frozenset()


class Inbox:
    """Committed batches for the judging thread. `put` and `ask` from any thread, `take` from one."""

    def __init__(self, max_bytes: int) -> None:
        self.spilled = 0  # batches of which only the trace ids were kept
        self._max_bytes = max_bytes
        self._bytes = 0
        self._batches: deque[tuple[Batch, int]] = deque()
        self._asked: set[TraceKey] = set()
        self._gone: set[TraceKey] = set()
        self._in_hand = 0  # how often something was taken that is not processed yet
        self.wake_event = WakeEvent()
        self._lock = threading.Lock()

    @property
    def queued_bytes(self) -> int:
        """Bytes of the batches that wait."""
        return self._bytes

    @property
    def empty(self) -> bool:
        """Whether nothing waits, and nothing that was taken is still being worked on."""
        with self._lock:
            return not (self._batches or self._asked or self._gone or self._in_hand)

    @property
    def waits(self) -> bool:
        """Whether something waits to be taken."""
        with self._lock:
            return bool(self._batches or self._asked or self._gone)

    def put(self, batch: Batch, received_at: int) -> None:
        """Queue a committed batch (`received_at`: the stored arrival time of its rows, unix nanos)."""
        with self._lock:
            if self._bytes + batch.size > self._max_bytes and self._batches:
                self.spilled += 1
                self._asked.update(by_trace(batch))
            else:
                self._bytes += batch.size
                self._batches.append((batch, received_at))
        self.wake_event.wake()

    def ask(self, keys: Sequence[TraceKey]) -> None:
        """Have these traces judged from the store."""
        with self._lock:
            self._asked.update(keys)
        self.wake_event.wake()

    def forget(self, keys: Collection[TraceKey], through: int) -> None:
        """These traces are deleted as far as they arrived by `through` (unix nanos): whatever waits of that, too."""
        with self._lock:
            self._gone.update(keys)
            kept = [(b.without(keys) if at <= through else b, at) for b, at in self._batches]
            self._batches = deque((batch, at) for batch, at in kept if batch)
            self._bytes = sum(batch.size for batch, _ in self._batches)
        self.wake_event.wake()

    def done(self) -> None:
        """Note that what one `take` gave is processed."""
        with self._lock:
            self._in_hand = max(self._in_hand - 1, 0)

    def take(self) -> TakenBatches:
        """The waiting batches. Until `done` is called as often, the inbox does not count as empty."""
        with self._lock:
            taken = TakenBatches(list(self._batches), frozenset(self._asked), frozenset(self._gone))
            self._batches.clear()
            self._asked, self._gone, self._bytes = set(), set(), 0
            self._in_hand += 1
            return taken


def by_trace(batch: Batch) -> dict[TraceKey, Arrivals]:
    """The rows of a batch by trace; log records without a trace id belong to none."""
    groups: dict[TraceKey, Arrivals] = {}
    for span in batch.spans:
        groups.setdefault((span.tenant, span.trace_id), Arrivals()).spans.append(span)
    for record in batch.logs:
        if record.trace_id:
            groups.setdefault((record.tenant, record.trace_id), Arrivals()).logs.append(record)
    return groups
