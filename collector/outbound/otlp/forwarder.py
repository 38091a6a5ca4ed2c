"""Forwards traces to one backend: takes those that are due, sends them, and stores what the backend has."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import Final

from tracejury.collector.store.exports import StoredExports
from tracejury.collector.worker.keyed_queue import Item, KeyedQueue
from tracejury.collector.worker.listeners import TAKE_UP
from tracejury.collector.worker.loop_runner import LoopRunner
from tracejury.collector.worker.outage_log import MAX_TEXT, OutageLog
from tracejury.collector.worker.retry import RetryPolicy
from tracejury.collector.worker.wake_event import WakeEvent
from tracejury.collector.worker.worker import GroupError, QueueWork, Worker
from tracejury.schemas.errors import RetryableError, TracejuryError
from tracejury.schemas.export_rows import ExportProgress, Passed
from tracejury.schemas.queries.export_record import TraceRecord
from tracejury.schemas.text.terminal import one_line
from tracejury.schemas.trajectory import TraceState

from .batch import ExportBatch, ExportOptions
from .counts import ExportCounts
from .delivery import QUICK_TRIES, BackendUnavailableError, Delivery

log = logging.getLogger(__name__)

SECOND: Final = 1_000_000_000
MAX_TRACES: Final = 32
BEAT_NANOS: Final = SECOND // 2
"""Between two batches that are not full: a query of the store costs as much for one trace as for many."""
BATCH_ROWS: Final = 1000
"""Spans after which a batch is sent, so that little is sent twice where it breaks off."""
SWEEP_LIMIT: Final = 10_000
SWEEP_NANOS: Final = 600 * SECOND
OVERLAP: Final = 60 * SECOND
NEVER: Final = 2**63 - 1
MAX_TRIES: Final = 5
"""After which a trace that cannot be forwarded, though others are, is set aside."""
MAX_REST_SECONDS: Final = 10.0
REST_SECONDS: Final = 0.02


@dataclass(frozen=True, slots=True)
class WaitLimits:
    """In nanoseconds: how long a settled trace waits for LLM judges, and a judged one for the backend."""

    judges: int
    backend: int


@dataclass(frozen=True, slots=True)
class Forwarded:
    """Outcome of a batch. `was_read`: some trace's content was read whole; `requests`: so many were delivered."""

    progress: Sequence[ExportProgress]
    was_read: bool = False
    requests: int = 0


class Forwarder(QueueWork[str, None, Forwarded]):
    """One backend's work. `loop`: where requests are sent; `clock` gives unix nanos.

    `pressed`: clients wait for the store, or judging lags; both go first.
    """

    def __init__(
        self,
        name: str,
        store: StoredExports,
        delivery: Delivery,
        options: ExportOptions,
        limits: WaitLimits,
        max_queued: int,
        retry: RetryPolicy,
        counts: ExportCounts,
        *,
        loop: LoopRunner,
        pressed: Callable[[], bool],
        clock: Callable[[], int],
    ) -> None:
        wake = WakeEvent()
        super().__init__(KeyedQueue(max_queued, wake=wake), MAX_TRACES)
        self.name, self.counts, self.delivery = name, counts, delivery
        self._store, self._options, self._limits, self._retry = store, options, limits, retry
        self._loop, self._pressed, self._clock = loop, pressed, clock
        self._others: KeyedQueue[str, None] = KeyedQueue(max_queued, wake=wake)
        self._since = self._sweep_at = self._resume_at = self._oldest = 0
        self._is_started = False
        who = f"backend {name}"
        self._unavailable = OutageLog(who, "takes no traces, they wait in the store", "takes traces again", clock)
        self._unswept = OutageLog(who, "cannot look for what is due", "looks for what is due again", clock)
        self.worker = Worker(
            f"export {name}",
            self,
            OutageLog(who, "waits for the store", "goes on: the store works again", clock),
            wake=wake,
            retry=retry,
            tries=MAX_TRIES,
            isolates_retryable=True,  # a trace that is too large to be read must not keep the others
            drains=True,
            clock=clock,
        )

    def take_up(self, trace_ids: Collection[str]) -> None:
        """Note that other processes have judged these, and look later whether they have forwarded them."""
        self._others.put_keys(trace_ids, self._clock() + round(TAKE_UP.delay(1) * SECOND))

    async def stop(self, deadline: float) -> None:
        """Send what is due, within `deadline` seconds, up to the first failure; to a backend that is away nothing."""
        self.worker.stopping.set()
        if self.is_unavailable:  # the request under way may hang for its full time
            self._loop.cancel()
        await asyncio.to_thread(self.worker.stop, deadline)
        self._loop.cancel()

    def is_up(self) -> bool:
        """Whether the backend took what it was last sent, and the store answers."""
        return not (self.is_unavailable or self.worker.outage.failures or self._unswept.failures)

    @property
    def is_unavailable(self) -> bool:
        """Whether the backend refused what it was last sent for a reason that may pass."""
        return bool(self._unavailable.failures)

    @property
    def store_failures(self) -> int:
        """How often reading or writing our own store failed."""
        return self.worker.outage.total + self._unswept.total

    def lag(self) -> float:
        """Seconds since the last judgement of the oldest trace on its way, 0 where none is."""
        return max(self._clock() - self._oldest, 0) / SECOND if self._oldest else 0.0

    def due(self, now: int) -> Sequence[Item[str, None]]:
        """See `Work`. While it stops, nothing is due for a backend that is away."""
        is_stopping = self.worker.stopping.is_set()
        if is_stopping and self.is_unavailable:
            return ()
        if not self._is_started and not is_stopping:
            self._since = self._store.since()
            last = self._store.last_passed()
            self._sweep(now, max(last - OVERLAP, 1) if last else NEVER)
            self._is_started = True
        if now < self._resume_at and not is_stopping:
            return ()
        if not is_stopping:
            self._sweep_if_due(now)
            self._take_up_left(now)
        return super().due(now)

    def next_due(self) -> int:
        """See `Work`."""
        sweep = self._resume_at if self._has_left_some() else self._sweep_at
        dues = (sweep, self.queue.next_due(), self._others.next_due())
        return max(min(due for due in dues if due is not None), self._resume_at)

    def process(self, batch: Sequence[Item[str, None]]) -> Forwarded:
        """Send the traces that are ready, with those that were judged as one with them unless they go alone."""
        ids = [item.key for item in batch]
        self._step_back()
        found = self._store.records(ids)
        is_alone = len(ids) == 1 and self.worker.poison.is_suspect(ids[0])
        kin = [] if is_alone else sorted(found.keys() - set(ids))
        ready = self._ready([found[i] for i in (*ids, *kin) if i in found])
        late = [r for r in ready if self._is_late(r)]
        records = self._first([r for r in ready if r not in late])
        given_up = self._given_up(late)
        try:
            result = self._forward(records, given_up)
        except BackendUnavailableError as error:
            self.queue.put_keys(record.trace_id for record in records)
            self._unavailable.failed(str(error))
            self._resume_at = self._clock() + self._nanos(self._unavailable.failures, error.retry_after)
            return Forwarded(given_up)
        except Exception as error:
            self.queue.put_keys(kin)
            if kin and not isinstance(error, (RetryableError, CancelledError)):
                raise GroupError(kin) from error
            raise
        if len(batch) < MAX_TRACES and not len(self.worker.poison):
            self._resume_at = self._clock() + BEAT_NANOS
        return result

    def save(self, result: Forwarded) -> None:
        """Store what the backend has; of what was given up it is sent nothing until there is news."""
        if not result.progress:
            return
        self._store.save(result.progress)
        outcomes = [p.outcome for p in result.progress]
        self.counts.given_up += outcomes.count(Passed.GIVEN_UP)
        self.counts.sampled_out += outcomes.count(Passed.SAMPLED_OUT)
        self.counts.traces += outcomes.count(Passed.SENT)
        self._oldest = 0
        if result.requests:
            self._unavailable.ended()

    def proves_success(self, result: Forwarded) -> bool:
        """See `Work`: of traces that stay behind nothing was read."""
        return result.was_read

    def set_aside(self, item: Item[str, None], error: Exception) -> None:
        """Go on without this trace, until there is news of it."""
        now, trace_id = self._clock(), item.key
        try:
            record = self._store.records([trace_id]).get(trace_id)
        except Exception:  # noqa: BLE001  that it cannot be read may be the very reason
            record = None
        seen, received_at, sent = (record.seen, record.received_at, record.sent) if record else (now, now, {})
        self._store.save([ExportProgress(trace_id, seen, Passed.GIVEN_UP, now, received_at, sent)])
        self.counts.broken += 1
        self._oldest = 0
        unexpected = None if isinstance(error, TracejuryError) else error
        text = "trace %s goes to backend %s no more, it failed %d times: %s"
        log.error(text, trace_id, self.name, MAX_TRIES, one_line(str(error), MAX_TEXT), exc_info=unexpected)

    def _sweep_if_due(self, now: int) -> None:
        """Look for what is due; where the store cannot tell, what the queue holds goes all the same."""
        if now < self._sweep_at and not self._has_left_some():
            return
        try:
            self._sweep(now, NEVER)
        except Exception as error:  # noqa: BLE001  the log tells it
            self._unswept.failed(error)
            self._sweep_at = now + self._nanos(self._unswept.failures)
        else:
            self._unswept.ended()

    def _take_up_left(self, now: int) -> None:
        others = self._others.take(now, SWEEP_LIMIT)
        try:
            self.queue.put_keys(self._store.left([item.key for item in others]) if others else ())
        except BaseException:
            self._others.put_back(others)
            raise
        self._others.done(others)

    def _has_left_some(self) -> bool:
        """Whether a sweep finds more at once: some were left to the store, and there is room for them."""
        return self.queue.overflowed and not self._unswept.failures and len(self.queue) < SWEEP_LIMIT // 2

    def _sweep(self, now: int, again: int) -> None:
        self.queue.overflowed = False
        found = self._store.due(self._since, again, SWEEP_LIMIT)
        self._sweep_at = now + SWEEP_NANOS
        self.queue.put_keys(found)
        self.queue.overflowed |= len(found) >= SWEEP_LIMIT

    def _nanos(self, failures: int, asked: float = 0.0) -> int:
        return round(self._retry.delay(failures, asked) * SECOND)

    def _ready(self, records: Sequence[TraceRecord]) -> list[TraceRecord]:
        """Those that are closed, and judged or waited for long enough; an open one is queued when it closes."""
        now, ready = self._clock(), []
        for record in records:
            until = max(r.judged_at for r in record.all) + self._limits.judges
            if record.state == TraceState.OPEN:
                continue
            if record.waits and now < until:
                self.queue.put_keys([record.trace_id], until)
            else:
                ready.append(record)
        return ready

    def _first(self, records: Sequence[TraceRecord]) -> list[TraceRecord]:
        """As many as a batch takes; the others wait. A backend that is away is asked with one trace only."""
        first: list[TraceRecord] = []
        rows = 0
        for record in records:
            if first and (self.is_unavailable or rows + record.rows > BATCH_ROWS):
                self.queue.put_keys([record.trace_id])
            else:
                first.append(record)
                rows += record.rows
        return first

    def _forward(self, records: Sequence[TraceRecord], given_up: Sequence[ExportProgress]) -> Forwarded:
        if not records:
            return Forwarded(given_up)
        self._oldest = min(record.seen for record in records)
        batch = ExportBatch(records, self._store, self._options)
        sent = 0
        for request in batch.requests():
            self._step_back()
            self._loop.run(self.delivery.deliver(request, 1 if self.is_unavailable else QUICK_TRIES))
            sent += 1
        return Forwarded([*given_up, *batch.progress(self._clock())], batch.left_out < len(records), sent)

    def _is_late(self, record: TraceRecord) -> bool:
        """Whether it has waited too long for a backend that was asked all the while; our own absence is no waiting."""
        if not self.is_unavailable or record.seen <= record.sent_seen:
            return False
        return self._clock() - max(record.seen, self._unavailable.since) > self._limits.backend

    def _given_up(self, records: Sequence[TraceRecord]) -> list[ExportProgress]:
        now = self._clock()
        return [ExportProgress(r.trace_id, r.seen, Passed.GIVEN_UP, now, r.received_at, r.sent) for r in records]

    def _step_back(self) -> None:
        """Let those who wait for an acknowledgement or a finding go first, for a while."""
        rest = MAX_REST_SECONDS
        while rest > 0 and self._pressed() and not self.worker.stopping.wait(REST_SECONDS):
            rest -= REST_SECONDS
