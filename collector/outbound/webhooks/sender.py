"""The sending half of a webhook: messages are posted, tried again where that failed, and settled."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from tracejury.collector.worker.keyed_queue import Item, KeyedQueue
from tracejury.collector.worker.loop_runner import LoopRunner
from tracejury.collector.worker.outage_log import SECOND, OutageLog
from tracejury.collector.worker.retry import RetryPolicy, retry_after
from tracejury.collector.worker.wake_event import WakeEvent
from tracejury.collector.worker.worker import QueueWork, Worker
from tracejury.schemas.queries.webhook_events import GIVEN_UP, SENT, Delivered, Event, WebhookMessage, message_id
from tracejury.schemas.text.counting import counted

from .metrics import WebhookMetrics
from .posting import DeliveryError, Poster
from .signing import headers
from .webhook_spec import WebhookSpec

log = logging.getLogger(__name__)

GONE, GOOD = 410, range(200, 300)
THROTTLED: Final = frozenset({429, 502, 503, 504})
LONGEST_ASKED: Final = 3_600.0
"""Seconds that a receiver may ask us to wait, at most: all its events wait with the one that it refused."""
RETRY: Final = RetryPolicy(first=1.0, longest=300.0, longest_asked=LONGEST_ASKED)
NEVER: Final = 2**63 - 1
MAX_TRIES: Final = 5
"""After which an event that cannot even be posted is left to the next start."""

MessageKey = tuple[str, Event]


@dataclass(frozen=True, slots=True)
class PostAttempt:
    """One POST. `outcome`: the status or what failed; `asked`: seconds that the receiver asks for."""

    item: Item[MessageKey, WebhookMessage]
    outcome: str
    is_taken: bool = False
    asked: float = 0.0


class WebhookSender(QueueWork[MessageKey, WebhookMessage, PostAttempt]):
    """Sends queued messages on as many threads as the webhook has requests in flight. `clock` gives unix nanos.

    `settle` is told what became of a message, and `freed` that there is room for others; `stays`: after so many
    tries, nobody else sent it, and its trace is not deleted since. `loop`: where `post` runs.
    """

    def __init__(
        self,
        spec: WebhookSpec,
        post: Poster,
        metrics: WebhookMetrics,
        settle: Callable[[Delivered], None],
        stays: Callable[[WebhookMessage, int], bool],
        freed: Callable[[], None],
        max_messages: int,
        *,
        loop: LoopRunner,
        clock: Callable[[], int] = time.time_ns,
        retry: RetryPolicy = RETRY,
    ) -> None:
        wake = WakeEvent()
        super().__init__(KeyedQueue(max_messages, wake=wake), 1)
        self.is_disabled = False
        self._spec, self._post, self._metrics, self._settle, self._stays = spec, post, metrics, settle, stays
        self._freed = freed
        self._loop, self._clock, self._retry = loop, clock, retry
        self._longest_asked = min(LONGEST_ASKED, spec.max_age / SECOND)
        self._held_until = 0
        self._oldest: int | None = None  # of what waits, or earlier
        self._lock = threading.Lock()
        outage = OutageLog(f"webhook {spec.name}", "cannot send", "sends again", clock)
        name = f"webhook {spec.name} sender"
        threads = spec.concurrency
        self.worker = Worker(name, self, outage, wake=wake, tries=MAX_TRIES, threads=threads, clock=clock)

    def add(self, message: WebhookMessage) -> bool:
        """Queue a message; False where there is no room."""
        with self._lock:
            self._oldest = message.since if self._oldest is None else min(self._oldest, message.since)
        return self.queue.put(message.key, message)

    def due(self, now: int) -> Sequence[Item[MessageKey, WebhookMessage]]:
        """See `Work`; what is too old is given up first, for it may be held for longer."""
        self._give_up_old(now)
        while now >= self._held_until and (taken := super().due(now)):
            if self._stays(taken[0].value, taken[0].tries):
                return taken
            self.done(taken)
        return ()

    def next_due(self) -> int | None:
        """See `Work`."""
        first, oldest = self.queue.next_due(), self._oldest
        if first is None:
            return None
        due = max(first, self._held_until)
        return due if oldest is None else min(due, oldest + self._spec.max_age)

    def done(self, batch: Sequence[Item[MessageKey, WebhookMessage]]) -> None:
        """See `Work`."""
        if batch:
            super().done(batch)
            self._freed()

    def process(self, batch: Sequence[Item[MessageKey, WebhookMessage]]) -> PostAttempt:
        """Post it, signed anew."""
        (item,) = batch
        body, now = item.value.body, self._clock()
        signed = headers(self._spec.keys, item.value.id, now // SECOND, body)
        try:
            answer = self._loop.run(self._post.post(signed, body))
        except DeliveryError as error:
            return PostAttempt(item, error.reason)
        asked = retry_after(answer.retry_after, self._clock() / SECOND, self._longest_asked)
        return PostAttempt(item, str(answer.status), answer.status in GOOD, asked or 0.0)

    def save(self, result: PostAttempt) -> None:
        """Settle the message, or queue it again."""
        item, outcome, now = result.item, result.outcome, self._clock()
        message = item.value
        self._metrics.attempted(self._spec.name, outcome)
        item.tries += 1
        if result.is_taken:
            is_news = item.tries == 1 and message.event is Event.FOUND
            self._metrics.sent(self._spec.name, message.event, now - message.received if is_news else None)
            self._settle(self._delivered(message, SENT, now))
        elif outcome == str(GONE):
            self._disable()
        elif now - message.since > self._spec.max_age:
            self.give_up([self._delivered(message, GIVEN_UP, now)], outcome)
        elif not self.is_disabled:
            self._try_again(item, outcome, result.asked, now)

    def set_aside(self, item: Item[MessageKey, WebhookMessage], error: Exception) -> None:
        """See `Work`."""
        text = "webhook %s: %s cannot be sent, the next start tries it again"
        log.error(text, self._spec.name, item.value.id, exc_info=error)

    def give_up(self, delivered: Sequence[Delivered], why: str) -> None:
        """Try these no longer, nor at all."""
        if delivered:
            name, first = self._spec.name, delivered[0]
            what, example = counted(len(delivered), "event"), message_id(name, first.fingerprint, first.event)
            log.warning("webhook %s gives up %s, too old by now (%s), from %s on", name, what, why, example)
            self._metrics.given_up(name, len(delivered))
        for one in delivered:
            self._settle(one)

    def _give_up_old(self, now: int) -> None:
        with self._lock:
            latest = now - self._spec.max_age
            if self._oldest is None or self._oldest > latest:
                return
            old = self.queue.take(NEVER, only=lambda item: item.value.since <= latest)
            self._oldest = min((message.since for message in self.queue.values()), default=None)
        self.give_up([self._delivered(item.value, GIVEN_UP, now) for item in old], "the receiver let them wait")
        self.done(old)

    def _try_again(self, item: Item[MessageKey, WebhookMessage], outcome: str, asked: float, now: int) -> None:
        wait = self._retry.delay(item.tries, asked)
        due = now + round(wait * SECOND)
        if item.tries == 1:
            name, what = self._spec.name, item.value.id
            log.warning("webhook %s: %s is tried again in %.0f s (%s)", name, what, wait, outcome)
        is_receivers_fault = not outcome.isdecimal() or int(outcome) in THROTTLED
        with self._lock:
            if is_receivers_fault:
                self._held_until = max(self._held_until, due)
            self._oldest = item.value.since if self._oldest is None else min(self._oldest, item.value.since)
        self.queue.put_back([item], due)

    def _delivered(self, message: WebhookMessage, state: str, now: int) -> Delivered:
        m = message
        return Delivered(self._spec.name, m.trace_id, m.fingerprint, m.event, state, now, m.received)

    def _disable(self) -> None:
        if not self.is_disabled:
            log.error("webhook %s is gone (410) and switched off until the next start", self._spec.name)
        self.is_disabled = True
        self.queue.close()
