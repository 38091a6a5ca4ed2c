"""Between commit and judging: a bounded inbox that never blocks the writer.

Beyond its bound a group waits in a temporary file, as the block that the engine was sent: reading that back costs less
than judging has to do for it while clients wait, and much less than a query. Where that is not possible only *which*
traces changed is kept; their spans are read from the store when they are judged.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from tracejury.collector.store.committer import CommittedGroup, batch_of_copy
from tracejury.collector.worker.spill_files import SpillEntry, SpillFiles
from tracejury.collector.worker.wake_event import WakeEvent
from tracejury.processors.assemble import TraceKey
from tracejury.schemas.batch import Batch
from tracejury.schemas.spans import LogRecord, Span

log = logging.getLogger(__name__)


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


@dataclass(slots=True)
class _WaitingRows:
    """Rows that arrived together: a batch, or in a file those of `keys`, without those of `gone`."""

    received_at: int
    batch: Batch = field(default_factory=Batch)
    entry: SpillEntry | None = None
    keys: frozenset[TraceKey] = frozenset()
    gone: set[TraceKey] = field(default_factory=set)


class Inbox:
    """Committed batches for the judging thread. `put` and `ask` from any thread, `take` from one.

    `files`: for what exceeds `max_bytes`.
    """

    def __init__(self, max_bytes: int, files: SpillFiles | None = None) -> None:
        self.spilled = 0  # batches of which only the trace ids were kept
        self._max_bytes, self._files = max_bytes, files
        self._bytes = 0
        self._batches: deque[_WaitingRows] = deque()
        self._asked: set[TraceKey] = set()
        self._gone: set[TraceKey] = set()
        self._in_hand = 0  # how often something was taken that is not processed yet
        self.wake_event = WakeEvent()
        self._lock = threading.Lock()

    @property
    def queued_bytes(self) -> int:
        """Bytes of the batches that wait in memory."""
        return self._bytes

    @property
    def oldest(self) -> int | None:
        """When the rows that wait longest arrived (unix nanos); None where none wait."""
        with self._lock:
            return self._batches[0].received_at if self._batches else None

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

    def copy_for(self, size: int) -> SpillEntry | None:
        """See `Hearer`."""
        return None if self._has_room(size) or self._files is None else self._files.begin()

    def committed(self, group: CommittedGroup) -> None:
        """See `Hearer`."""
        copy, size = group.copy, sum(batch.size for batch in group.batches)
        with self._lock:
            if copy is not None and copy.is_whole:
                self._batches.append(_WaitingRows(group.received_at, entry=copy, keys=_keys_of(group)))
            elif self._has_room(size):
                self._bytes += size
                self._batches += [_WaitingRows(group.received_at, batch) for batch in group.batches]
            else:
                self.spilled += len(group.batches)
                self._asked |= _keys_of(group)
        if copy is not None and not copy.is_whole:
            copy.drop()
        self.wake_event.wake()

    def put(self, batch: Batch, received_at: int) -> None:
        """Queue a committed batch (`received_at`: the stored arrival time of its rows, unix nanos)."""
        self.committed(CommittedGroup([batch], received_at))

    def ask(self, keys: Sequence[TraceKey]) -> None:
        """Have these traces judged from the store."""
        with self._lock:
            self._asked.update(keys)
        self.wake_event.wake()

    def forget(self, keys: Collection[TraceKey], through: int) -> None:
        """These traces are deleted as far as they arrived by `through` (unix nanos): whatever waits of that, too."""
        with self._lock:
            self._gone.update(keys)
            for waiting in self._batches:
                if waiting.received_at > through:
                    continue
                if waiting.entry:
                    waiting.gone.update(keys)
                else:
                    waiting.batch = waiting.batch.without(keys)
        self.wake_event.wake()

    def done(self) -> None:
        """Note that what one `take` gave is processed."""
        with self._lock:
            self._in_hand = max(self._in_hand - 1, 0)

    def take(self, *, files: bool = True) -> TakenBatches:
        """The batches that wait, in their order, up to the first that is in a file; with `files` it is read, too.

        Until `done` is called as often, the inbox does not count as empty.
        """
        taken = list[_WaitingRows]()
        with self._lock:
            asked, gone = set(self._asked), frozenset(self._gone)
            while self._batches and (files or not self._batches[0].entry) and not (taken and taken[-1].entry):
                taken.append(self._batches.popleft())
                self._bytes -= taken[-1].batch.size
            self._asked, self._gone = set(), set()
            self._in_hand += 1
        for waiting in taken:
            if waiting.entry:
                asked |= self._read(waiting, waiting.entry)
        return TakenBatches([(one.batch, one.received_at) for one in taken if one.batch], frozenset(asked), gone)

    def _has_room(self, size: int) -> bool:
        return not self._batches or self._bytes + size <= self._max_bytes

    def _read(self, waiting: _WaitingRows, entry: SpillEntry) -> frozenset[TraceKey]:
        """Read a batch from its file; returns the traces that have to be read from the store instead."""
        try:
            waiting.batch = batch_of_copy(entry).without(waiting.gone)
        except (OSError, EOFError, LookupError, ValueError) as error:
            log.warning("%d traces are read from the store: %s", len(waiting.keys), error)
            return waiting.keys - waiting.gone
        return frozenset()


def _keys_of(group: CommittedGroup) -> frozenset[TraceKey]:
    of_spans = {(span.tenant, span.trace_id) for batch in group.batches for span in batch.spans}
    of_logs = {(record.tenant, record.trace_id) for batch in group.batches for record in batch.logs if record.trace_id}
    return frozenset(of_spans | of_logs)


def by_trace(batch: Batch) -> dict[TraceKey, Arrivals]:
    """The rows of a batch by trace; log records without a trace id belong to none."""
    groups: dict[TraceKey, Arrivals] = {}
    for span in batch.spans:
        groups.setdefault((span.tenant, span.trace_id), Arrivals()).spans.append(span)
    for record in batch.logs:
        if record.trace_id:
            groups.setdefault((record.tenant, record.trace_id), Arrivals()).logs.append(record)
    return groups
