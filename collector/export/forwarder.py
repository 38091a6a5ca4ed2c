"""The way to one backend: takes what is due, sends it, notes what the backend has. Memory is needed for nothing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from ...schemas.errors import RetryableError
from ...schemas.export_rows import Passed, Progress
from ...schemas.trajectory import TraceState
from .batch import Batch, Manner, Source
from .delivery import QUICK_TRIES, AwayError, Delivery
from .metrics import Counts
from .queue import Queue
from .record import TraceRecord

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
    """What forwarding reads and writes; all of it blocks, and raises RetryableError for what may pass."""

    def since(self) -> int:
        """When the backend was first set up (unix nanos)."""

    def last_passed(self) -> int:
        """When anything was last passed on (unix nanos)."""

    def due(self, since: int, again: int, limit: int) -> Sequence[str]:
        """Traces in which something is said that the backend lacks."""

    def records(self, trace_ids: Sequence[str]) -> Mapping[str, TraceRecord]:
        """What is known of these."""

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
        self._most = MOST_TRACES
        self._failures, self._failing_since = 0, 0
        self._oldest = 0
        self._loop = asyncio.get_running_loop()
        self._serving: asyncio.Task[None] | None = None
        queue.wake = self._wake

    def is_up(self) -> bool:
        """Whether the backend took what it was last sent."""
        return not self._failures

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
        if self._failures and self._serving is not None:  # the request under way may hang for as long as it may take
            self._serving.cancel()

    async def serve(self) -> None:
        """Pass traces on until drained or cancelled."""
        self._serving = asyncio.current_task()
        while not self._draining:
            try:
                await self._start()
                break
            except RetryableError as error:
                log.warning("backend %s waits for the store: %s", self.name, error)
                await self._pause(error.retry_after)
        while True:
            self._news.clear()
            try:
                await self._sweep_if_due()
                ids = self.queue.take(self._clock(), 1 if self._failures else self._most)
                if ids:
                    await self._take_on(ids)
                    await self._pause(0.0 if len(ids) == self._most else BEAT_SECONDS)
                elif self._draining:
                    return
                else:
                    await self._rest()
            except AwayError as error:
                if self._draining:
                    return
                await self._pause(self._delivery.wait(self._failures, error.retry_after))
            except RetryableError as error:
                log.warning("backend %s waits for the store: %s", self.name, error)
                await self._pause(error.retry_after)

    async def _start(self) -> None:
        self._since = await self._run(self._store.since)
        last = await self._run(self._store.last_passed)
        await self._sweep(max(last - AGAIN, 1) if last else NEVER)

    async def _sweep_if_due(self) -> None:
        room = len(self.queue) < SWEEP_LIMIT // 2
        if not self._draining and (self._clock() >= self._sweep_at or self.queue.overflowed) and room:
            await self._sweep(NEVER)

    async def _sweep(self, again: int) -> None:
        self.queue.overflowed = False
        self._sweep_at = self._clock() + round(SWEEP_SECONDS * SECOND)
        found = await self._run(lambda: self._store.due(self._since, again, SWEEP_LIMIT))
        self.queue.add(found)
        self.queue.overflowed |= len(found) >= SWEEP_LIMIT

    async def _take_on(self, ids: Sequence[str]) -> None:
        try:
            await self._step_back()
            await self._pass_on(ids)
        except AwayError as error:
            self.queue.add(ids)
            self._failed(str(error))
            raise
        except RetryableError:
            self.queue.add(ids)
            raise
        except Exception:
            if len(ids) > 1:
                log.exception("%d traces cannot be passed on to backend %s together", len(ids), self.name)
                self._most = 1
                self.queue.add(ids)
                return
            log.exception("trace %s cannot be passed on to backend %s", ids[0], self.name)
            self.counts.given_up += 1
        else:
            self._most = min(2 * self._most, MOST_TRACES)

    async def _pass_on(self, ids: Sequence[str]) -> None:
        found = await self._run(lambda: self._store.records(ids))
        ready = self._ready([found[i] for i in ids if i in found])
        await self._give_up([r for r in ready if self._is_late(r)])
        some: list[TraceRecord] = []
        for record in (r for r in ready if not self._is_late(r)):
            if some and sum(r.rows for r in some) + record.rows > BATCH_ROWS:
                self.queue.add([record.trace_id])
            else:
                some.append(record)
        if not some:
            return
        self._oldest = min(record.seen for record in some)
        batch = Batch(some, self._store, self._manner)
        parcels = batch.parcels()
        sent = 0
        while (parcel := await self._run(lambda: next(parcels, None))) is not None:
            await self._step_back()
            await self._delivery.deliver(parcel, 1 if self._failures else QUICK_TRIES)
            sent += 1
        progress = list(batch.progress(self._clock()))
        await self._run(lambda: self._store.save(progress))
        left = sum(p.outcome is Passed.SAMPLED_OUT for p in progress)
        self.counts.sampled_out += left
        self.counts.traces += len(progress) - left
        self._oldest = 0
        if sent:
            self._worked()

    def _ready(self, records: Sequence[TraceRecord]) -> list[TraceRecord]:
        """Those that are closed, and judged or waited for long enough; an open one is heard of when it closes."""
        now, ready = self._clock(), []
        for record in records:
            until = record.judged_at + self._patience.judges
            if record.state == TraceState.OPEN:
                continue
            if record.pending and now < until:
                self.queue.add([record.trace_id], until)
            else:
                ready.append(record)
        return ready

    def _is_late(self, record: TraceRecord) -> bool:
        return record.seen > record.sent_seen and self._clock() - record.seen > self._patience.backend

    async def _give_up(self, records: Sequence[TraceRecord]) -> None:
        if not records:
            return
        now = self._clock()
        rows = [Progress(r.trace_id, r.seen, Passed.GIVEN_UP, now, r.received_at, r.sent) for r in records]
        await self._run(lambda: self._store.save(rows))
        self.counts.given_up += len(records)

    def _failed(self, why: str) -> None:
        if not self._failures:
            self._failing_since = self._clock()
            log.warning("backend %s takes no traces, they wait in the store: %s", self.name, why)
        self._failures += 1

    def _worked(self) -> None:
        if self._failures:
            seconds = (self._clock() - self._failing_since) / SECOND
            log.info("backend %s takes traces again, after %.0f s", self.name, seconds)
        self._failures = 0

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
