"""One webhook: its events are read from the store, sent, and marked there; nothing else is durable."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

from tracejury.collector.store.deliveries import StoredDeliveries
from tracejury.collector.worker.keyed_queue import Item, KeyedQueue
from tracejury.collector.worker.listeners import TAKE_UP
from tracejury.collector.worker.loop_runner import LoopRunner
from tracejury.collector.worker.outage_log import SECOND, OutageLog
from tracejury.collector.worker.retry import RetryPolicy
from tracejury.collector.worker.wake_event import WakeEvent
from tracejury.collector.worker.worker import Work, Worker
from tracejury.schemas.queries.webhook_events import GIVEN_UP, Delivered, Event, Found, WebhookMessage

from .metrics import WebhookMetrics
from .payload import message
from .posting import Poster
from .rules import news
from .sender import MAX_TRIES, RETRY, MessageKey, WebhookSender
from .webhook_spec import WebhookSpec

log = logging.getLogger(__name__)

MAX_MESSAGES: Final = 1000
"""Events that wait in memory; the rest waits in the store."""
MAX_TRACES: Final = 10_000
"""Traces noted as changed; beyond it the store is swept instead."""
MAX_OTHERS: Final = 100_000
"""Traces that other processes judged lately."""
READ_TRACES: Final = 100
"""Traces read in one go."""
QUIET_NANOS: Final = 3600 * 10**9
"""How often it is stored that nothing waits: a sweep begins at the last such time."""


class Webhook(Work[Item[Any, Any], Sequence[Delivered]]):
    """Made in the running event loop, where requests are sent; `hint` and `drop` from any thread.

    Its worker reads the findings of changed traces into the sender's queue, and marks what the sender settled. Marks go
    first, so a trace is read with all marks stored but those in `_marks`.
    """

    def __init__(
        self,
        spec: WebhookSpec,
        store: StoredDeliveries,
        post: Poster,
        metrics: WebhookMetrics,
        *,
        clock: Callable[[], int] = time.time_ns,
        retry: RetryPolicy = RETRY,
    ) -> None:
        self._spec, self._store, self._clock = spec, store, clock
        self._wake, self._loop = WakeEvent(), LoopRunner()
        self._traces: KeyedQueue[str, None] = KeyedQueue(MAX_TRACES, wake=self._wake)
        self._traces.overflowed = True  # what an earlier process left must be looked for first
        self._others: KeyedQueue[str, None] = KeyedQueue(MAX_OTHERS, wake=self._wake)
        self._marks: KeyedQueue[MessageKey, Delivered] = KeyedQueue(2**31, wake=self._wake)
        self._sender = WebhookSender(
            spec, post, metrics, self._settle, self._stays, self._wake.wake, MAX_MESSAGES,
            loop=self._loop, clock=clock, retry=retry,
        )  # fmt: skip
        self._revisit: set[str] = set()
        self._since: int | None = None
        self._quiet_at = 0
        self._swept_to: str | None = None  # while a sweep goes on
        outage = OutageLog(f"webhook {spec.name}", "waits for the store", "goes on: the store works again", clock)
        self.worker = Worker(f"webhook {spec.name}", self, outage, wake=self._wake, tries=MAX_TRIES, clock=clock)

    @property
    def waiting(self) -> int:
        """Events that wait in memory or are being sent."""
        return len(self._sender.queue) + self._sender.queue.in_flight

    @property
    def is_disabled(self) -> bool:
        """Whether the receiver is gone for good."""
        return self._sender.is_disabled

    def start(self) -> None:
        """Begin with what an earlier process left."""
        self.worker.start()
        self._sender.worker.start()

    async def stop(self, deadline: float) -> None:
        """Give up what is being sent: the next process finds it unmarked. Idempotent, safe without start."""
        workers = (self.worker, self._sender.worker)
        for worker in workers:
            worker.stopping.set()
        self._loop.cancel()
        await asyncio.gather(*(asyncio.to_thread(worker.stop, deadline) for worker in workers))

    def hint(self, trace_ids: Collection[str]) -> None:
        """Note that these traces have changed."""
        if not self.is_disabled:
            self._traces.put_keys(trace_ids)
            self._sender.worker.wake_event.wake()

    def take_up(self, trace_ids: Collection[str]) -> None:
        """Note that other processes have judged these, and look later whether they have told of them."""
        if not self.is_disabled:
            self._others.put_keys(trace_ids, self._clock() + round(TAKE_UP.delay(1) * SECOND))

    def drop(self, trace_ids: Collection[str]) -> None:
        """Send nothing more of these traces: they are being deleted."""
        self._sender.queue.drop(lambda item: item.value.trace_id in trace_ids)
        self._wake.wake()

    def due(self, now: int) -> Sequence[Item[Any, Any]]:
        """Marks, else changed traces, else those of a sweep."""
        if self._since is None:
            since = self._store.since(self._spec.name)
            self._quiet_at = self._store.quiet(self._spec.name) or since
            self._since = since
        if marks := self._marks.take(now):
            return marks
        if self.waiting >= MAX_MESSAGES or self.is_disabled:
            return ()
        if not len(self._traces) and (self._swept_to is not None or self._traces.overflowed):
            self._traces.put_keys(self._sweep(self._since))
        traces = self._traces.take(now, READ_TRACES) or self._others.take(now, READ_TRACES)
        if not traces and not self._traces.overflowed and not self.waiting and now - self._quiet_at >= QUIET_NANOS:
            self._store.keep_quiet(self._spec.name, now)
            self._quiet_at = now
        return traces

    def next_due(self) -> int | None:
        """See `Work`: the next try of an item that failed."""
        queues = (self._marks, self._traces, self._others)
        return min(filter(None, (queue.next_due() for queue in queues)), default=None)

    def key(self, item: Item[Any, Any]) -> Any:
        """See `Work`."""
        return item.key

    def process(self, batch: Sequence[Item[Any, Any]]) -> Sequence[Delivered]:
        """Mark events that are settled; queue those of changed traces."""
        if isinstance(batch[0].value, Delivered):
            delivered = [item.value for item in batch]
            self._store.mark(delivered)
            return delivered
        self._read([item.key for item in batch])
        return ()

    def save(self, result: Sequence[Delivered]) -> None:
        """Have traces read again of which a mark may have hidden something, or whose mark was not stored."""
        again = {m.trace_id for m in result} & self._revisit
        self._revisit -= again
        self._traces.put_keys(again | {m.trace_id for m in result if not self._store.stays(m.trace_id, m.received)})

    def done(self, batch: Sequence[Item[Any, Any]]) -> None:
        """See `Work`."""
        for queue in self._queues_of(batch):
            queue.done(batch)

    def put_back(self, batch: Sequence[Item[Any, Any]], not_before: int) -> None:
        """See `Work`."""
        for queue in self._queues_of(batch):
            queue.put_back(batch, not_before)

    def set_aside(self, item: Item[Any, Any], error: Exception) -> None:
        """See `Work`."""
        log.error("webhook %s goes on without trace %s: %s", self._spec.name, item.key, error)

    def _queues_of(self, batch: Sequence[Item[Any, Any]]) -> Sequence[KeyedQueue[Any, Any]]:
        """The queues of which one gave the batch; the other leaves it alone."""
        return (self._marks,) if isinstance(batch[0].value, Delivered) else (self._traces, self._others)

    def _sweep(self, since: int) -> Sequence[str]:
        """The next traces of a pass over all that may still wait: too old, it is given up, not passed over."""
        if self._swept_to is None:
            self._traces.overflowed, self._swept_to = False, ""
        margin = max(self._spec.max_age, QUIET_NANOS)  # what was judged by then may have been stored later
        changed = max(min(self._quiet_at, self._clock()) - margin, 0)
        traces = self._store.recent(changed, since, self._swept_to, READ_TRACES)
        self._swept_to = traces[-1] if traces else None
        return traces

    def _read(self, traces: Sequence[str]) -> None:
        looked = self._store.read_findings(self._spec.name, traces)
        now, old = self._clock(), []
        for new in news(looked, self._spec.rules, self._since or 0):
            event, found = new.event, new.found
            known = any(self._is_known((fingerprint, event)) for fingerprint in new.fingerprints)
            if known or not self._store.stays(found.finding.trace_id, found.received):
                continue
            if now - found.judged_at > self._spec.max_age:
                old.append(self._given_up(event, found, now))
            elif not self._sender.add(message(self._spec.name, new, self._spec.base)):
                self._traces.overflowed = True
                break
        self._sender.give_up(old, "they waited in the store")
        if self._spec.rules.retractions:
            # Of what is under way it cannot be told yet whether a retraction is due.
            found_keys = {(f.finding.fingerprint, Event.FOUND): f.finding.trace_id for f in looked.found}
            self._revisit |= {trace_id for key, trace_id in found_keys.items() if self._is_known(key)}

    def _is_known(self, key: MessageKey) -> bool:
        """Whether such an event is under way; a settled one is a mark before it leaves the sender's queue."""
        return key in self._sender.queue or key in self._marks

    def _given_up(self, event: Event, found: Found, now: int) -> Delivered:
        finding = found.finding
        name = self._spec.name
        return Delivered(name, finding.trace_id, finding.fingerprint, event, GIVEN_UP, now, found.received)

    def _stays(self, message: WebhookMessage, tries: int) -> bool:
        if tries and self._store.told_by_others(self._spec.name, message.trace_id, message.fingerprint, message.event):
            return False
        stays = self._store.stays(message.trace_id, message.received)
        if not stays:  # what arrived since and says the same was taken for what waited
            self._traces.put_keys([message.trace_id])
        return stays

    def _settle(self, delivered: Delivered) -> None:
        self._marks.put((delivered.fingerprint, delivered.event), delivered)
