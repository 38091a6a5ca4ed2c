"""The way to one backend: takes what is due, sends it, notes what the backend has. Memory is needed for nothing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from ....schemas.errors import RetryableError, TracejuryError
from ....schemas.export_rows import Passed, Progress
from ....schemas.queries.export_record import TraceRecord
from ....schemas.text.terminal import one_line
from ....schemas.trajectory import TraceState
from ...worker.outage_log import OutageLog
from .batch import Batch, Manner, Source
from .delivery import QUICK_TRIES, AwayError, Delivery
from .metrics import Counts
from .poison_tracker import MOST_TRIES, Troubles
from .queue import Queue

log = logging.getLogger(__name__)

T = TypeVar("T")
SECOND: Final = 1_000_000_000
MOST_TRACES: Final = 32
BEAT_SECONDS: Final = 0.5
"""Between two batches that are not full: what is asked of the store costs as much for one trace as for many."""
BATCH_ROWS: Final = 1000
"""Spans after which a batch is sent, so that little is sent twice where it breaks off."""
SWEEP_LIMIT: Final = 10_000
SWEEP_SECONDS: Final = 600.0
AGAIN: Final = 60 * SECOND
NEVER: Final = 2**63 - 1
MAX_REST_SECONDS: Final = 10.0
REST_SECONDS: Final = 0.02


class ForwardingStore(Source, Protocol):
    """What forwarding reads and writes; all blocks, and raises RetryableError for what may pass, else StoreError."""

    def since(self) -> int:
        """When the backend was first set up (unix nanos)."""

    def last_passed(self) -> int:
        """When anything was last passed on (unix nanos)."""

    def due(self, since: int, again: int, limit: int) -> Sequence[str]:
        """Traces in which something is said that the backend lacks."""

    def records(self, trace_ids: Sequence[str]) -> Mapping[str, TraceRecord]:
        """What is known of these, and of their kin in which something is not passed on."""

    def save(self, progress: Sequence[Progress]) -> None:
        """Keep what the backend has."""


@dataclass(frozen=True, slots=True)
class Patience:
    """In nanoseconds: how long a settled trace waits for LLM judges, and a judged one for the backend."""

    judges: int
    backend: int


class Forwarder:
    """One backend's task in the event loop. `run` calls what blocks on a thread; `clock` gives unix nanos.

    `pressed` says whether clients wait for the store just now, or judging lags: both go first.
    """

    def __init__(
        self,
        name: str,
        store: ForwardingStore,
        delivery: Delivery,
        manner: Manner,
        patience: Patience,
        queue: Queue,
        counts: Counts,
        *,
        run: Callable[[Callable[[], T]], Awaitable[T]],
        pressed: Callable[[], bool],
        clock: Callable[[], int],
    ) -> None:
        self.name, self.queue, self.counts = name, queue, counts
        self._store, self._delivery, self._manner, self._patience = store, delivery, manner, patience
        self._run: Callable[[Callable[[], Any]], Awaitable[Any]] = run
        self._pressed, self._clock = pressed, clock
        self._news, self._draining = asyncio.Event(), False
        self._since = 0
        self._sweep_at = 0
        who = f"backend {name}"
        self._away = OutageLog(
            f"backend {name}", "takes no traces, they wait in the store", "takes traces again", clock
        )
        self._broken = OutageLog(who, "waits for the store", "goes on: the store works again", clock)
        self._unswept = OutageLog(
            f"backend {name}", "cannot look for what is due", "looks for what is due again", clock
        )
        self._troubles = Troubles()
        self._oldest = 0
        self._loop = asyncio.get_running_loop()
        self._serving: asyncio.Task[None] | None = None
        queue.wake = self._wake

    def is_up(self) -> bool:
        """Whether the backend took what it was last sent, and the store answers."""
        return not (self._away.failures or self._broken.failures or self._unswept.failures)

    def lag(self) -> float:
        """Seconds since the last judgement of the oldest trace on its way, 0 where none is."""
        return max(self._clock() - self._oldest, 0) / SECOND if self._oldest else 0.0

    def _wake(self) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._news.set)

    def drain(self) -> None:
        """Send what is due, then end; at the first failure end at once, and where the backend is away already."""
        self._draining = True
        self._news.set()
        if self._away.failures and self._serving is not None:  # the request under way may hang for its full time
            self._serving.cancel()

    async def serve(self) -> None:
        """Pass traces on until drained or cancelled; no failure ends it."""
        self._serving = asyncio.current_task()
        started = False
        while True:
            self._news.clear()
            try:
                if not started and not self._draining:
                    await self._start()
                    started = True
                    self._broken.ended()
                await self._sweep_if_due()
                if not await self._next():
                    return
            except AwayError as error:
                pause = self._delivery.wait(self._away.failures, error.retry_after)
            except Exception as error:  # noqa: BLE001  whatever it is: nobody else would begin this task again
                self._stumbled(self._broken, error)
                pause = self._delivery.wait(self._broken.failures, 0.0)
            else:
                continue
            if self._draining:
                return
            await self._pause(pause)

    async def _next(self) -> bool:
        """Take on the next batch, or rest; False where there is nothing more to do."""
        ids = self.queue.take(self._clock(), MOST_TRACES)
        if ids:
            now, later, alone = self._troubles.parted(ids)
            self.queue.add(later)
            await self._take_on(now, alone=alone)
            await self._pause(0.0 if later or len(ids) == MOST_TRACES else BEAT_SECONDS)
        elif self._draining:
            return False
        else:
            await self._rest()
        return True

    async def _start(self) -> None:
        self._since = await self._run(self._store.since)
        last = await self._run(self._store.last_passed)
        await self._sweep(max(last - AGAIN, 1) if last else NEVER)

    async def _sweep_if_due(self) -> None:
        """What the queue holds goes also where the store cannot tell what else is due."""
        room = len(self.queue) < SWEEP_LIMIT // 2
        overflowed = self.queue.overflowed and not self._unswept.failures
        if self._draining or not room or not (self._clock() >= self._sweep_at or overflowed):
            return
        try:
            await self._sweep(NEVER)
        except Exception as error:  # noqa: BLE001  as in `serve`
            self._stumbled(self._unswept, error)
            self._sweep_at = self._clock() + round(self._delivery.wait(self._unswept.failures, 0.0) * SECOND)
        else:
            self._unswept.ended()

    async def _sweep(self, again: int) -> None:
        self.queue.overflowed = False
        found = await self._run(lambda: self._store.due(self._since, again, SWEEP_LIMIT))
        self._sweep_at = self._clock() + round(SWEEP_SECONDS * SECOND)
        self.queue.add(found)
        self.queue.overflowed |= len(found) >= SWEEP_LIMIT

    def _stumbled(self, streak: OutageLog, error: Exception) -> None:
        self.counts.store_failures += 1
        streak.failed(error)

    async def _take_on(self, ids: Sequence[str], *, alone: bool) -> None:
        left = ids
        try:
            await self._step_back()
            records = await self._due_now(ids, alone=alone)
            left = [record.trace_id for record in records]
            await self._pass_on(records)
        except AwayError as error:
            self.queue.add(left)
            self._away.failed(str(error))
            raise
        except RetryableError:
            self._troubles.suspect(left)  # one that is too large to be read must not keep the others
            self.queue.add(left)
            raise
        except Exception as error:  # noqa: BLE001  it is told once it is known whose fault it is
            await self._trouble(left, error)
        else:
            self._troubles.over(ids)
            if not self._troubles:  # else it has to show by a trace that goes
                self._broken.ended()

    async def _trouble(self, ids: Sequence[str], error: Exception) -> None:
        """Find the trace that cannot be passed on, try it again later, and set it aside in the end.

        Raises:
            Exception: nothing can be read, or nothing goes, of any trace; that is the store's fault, or ours.
        """
        try:
            await self._run(lambda: self._store.due(self._since, NEVER, 1))
        except Exception:
            self.queue.add(ids)
            raise
        if len(ids) != 1:
            self._troubles.suspect(ids)
            self.queue.add(ids)
        elif (tries := self._troubles.blame(ids[0])) < MOST_TRIES or self._troubles.are_general:
            self.queue.add(ids, self._clock() + round(self._delivery.wait(max(tries, 1), 0.0) * SECOND))
        else:
            await self._set_aside(ids[0], error)
            return
        if self._troubles.are_general:
            raise error

    async def _set_aside(self, trace_id: str, error: Exception) -> None:
        """Go on without this trace, until something new is said in it."""
        now = self._clock()
        try:
            record = (await self._run(lambda: self._store.records([trace_id]))).get(trace_id)
        except Exception:  # noqa: BLE001  that it cannot be read may be the very reason
            record = None
        seen, received_at, sent = (record.seen, record.received_at, record.sent) if record else (now, now, {})
        row = Progress(trace_id, seen, Passed.GIVEN_UP, now, received_at, sent)
        try:
            await self._run(lambda: self._store.save([row]))
        except Exception:
            self.queue.add([trace_id])
            raise
        self._troubles.over([trace_id])
        self._broken.ended()
        self.counts.broken += 1
        self._oldest = 0
        unexpected = None if isinstance(error, TracejuryError) else error
        text = "trace %s goes to backend %s no more, it failed %d times: %s"
        log.error(text, trace_id, self.name, MOST_TRIES, one_line(str(error), 300), exc_info=unexpected)

    async def _due_now(self, ids: Sequence[str], *, alone: bool) -> list[TraceRecord]:
        """Those of these traces that go now, as many as a batch takes; the others wait on, or are given up.

        With them go those that were judged as one with them, unless they go alone.
        """
        found = await self._run(lambda: self._store.records(ids))
        kin = [] if alone else sorted(found.keys() - set(ids))
        ready = self._ready([found[i] for i in (*ids, *kin) if i in found])
        late = {r.trace_id: r for r in ready if self._is_late(r)}
        await self._give_up(list(late.values()))
        some: list[TraceRecord] = []
        for record in (r for r in ready if r.trace_id not in late):
            # Of a backend that is away only one trace asks whether it is back.
            if some and (self._away.failures or sum(r.rows for r in some) + record.rows > BATCH_ROWS):
                self.queue.add([record.trace_id])
            else:
                some.append(record)
        return some

    async def _pass_on(self, records: Sequence[TraceRecord]) -> None:
        if not records:
            return
        self._oldest = min(record.seen for record in records)
        batch = Batch(records, self._store, self._manner)
        requests = batch.requests()
        sent = 0
        while (request := await self._run(lambda: next(requests, None))) is not None:
            await self._step_back()
            await self._delivery.deliver(request, 1 if self._away.failures else QUICK_TRIES)
            sent += 1
        progress = list(batch.progress(self._clock()))
        await self._run(lambda: self._store.save(progress))
        left = sum(p.outcome is Passed.SAMPLED_OUT for p in progress)
        self.counts.sampled_out += left
        self.counts.traces += len(progress) - left
        self._oldest = 0
        if batch.left_out < len(records):  # of those that stay behind nothing was read
            self._troubles.went()
            self._broken.ended()
        if sent:
            self._away.ended()

    def _ready(self, records: Sequence[TraceRecord]) -> list[TraceRecord]:
        """Those that are closed, and judged or waited for long enough; an open one is heard of when it closes."""
        now, ready = self._clock(), []
        for record in records:
            until = max(r.judged_at for r in record.all) + self._patience.judges
            if record.state == TraceState.OPEN:
                continue
            if record.waits and now < until:
                self.queue.add([record.trace_id], until)
            else:
                ready.append(record)
        return ready

    def _is_late(self, record: TraceRecord) -> bool:
        """Whether it has waited too long for a backend that was asked all the while; our own absence is no waiting."""
        if not self._away.failures or record.seen <= record.sent_seen:
            return False
        return self._clock() - max(record.seen, self._away.since) > self._patience.backend

    async def _give_up(self, records: Sequence[TraceRecord]) -> None:
        if not records:
            return
        now = self._clock()
        rows = [Progress(r.trace_id, r.seen, Passed.GIVEN_UP, now, r.received_at, r.sent) for r in records]
        await self._run(lambda: self._store.save(rows))
        self.counts.given_up += len(records)

    async def _step_back(self) -> None:
        """Let those who wait for an acknowledgement or a finding go first, for a while."""
        rest = MAX_REST_SECONDS
        while rest > 0 and self._pressed() and not self._draining:
            await asyncio.sleep(REST_SECONDS)
            rest -= REST_SECONDS

    async def _rest(self) -> None:
        first = self.queue.next_time()
        until = self._sweep_at if first is None else min(first, self._sweep_at)
        await self._pause(max((until - self._clock()) / SECOND, 0.0), news=True)

    async def _pause(self, seconds: float, *, news: bool = False) -> None:
        """Wait; less where `news` comes, if asked, or the end."""
        until = self._loop.time() + seconds
        while not self._draining and (left := until - self._loop.time()) > 0:
            try:
                async with asyncio.timeout(left):
                    await self._news.wait()
            except TimeoutError:
                return
            if news:
                return
            self._news.clear()
