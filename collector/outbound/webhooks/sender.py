"""The sending half of a webhook: what waits is posted, again where that failed, and settled."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from ....schemas.queries.webhook_events import GIVEN_UP, SENT, Delivered, Event, Message, message_id
from ....schemas.text.counting import counted
from ...worker import retry as retrying
from ...worker.wake_event import Bell
from .metrics import WebhookMetrics
from .posting import Answer, DeliveryError
from .signing import headers
from .waiting import Queue, Waiting
from .webhook_spec import Terms

log = logging.getLogger(__name__)

GONE, GOOD = 410, range(200, 300)
THROTTLED: Final = frozenset({429, 502, 503, 504})
NANOS: Final = 1_000_000_000


class Post(Protocol):
    """Posts a body; raises DeliveryError."""

    async def post(self, headers: Mapping[str, str], body: bytes) -> Answer:
        """The answer."""


class Sender:
    """Sends what is put into `queue` and tells `settled`; `run` until cancelled. `clock` gives unix nanos.

    `stays`: whether the trace of a message is not deleted since; `chance` and `pause` say how long to wait after a
    failure (see `retrying.pause`).
    """

    def __init__(
        self,
        terms: Terms,
        post: Post,
        metrics: WebhookMetrics,
        settled: Callable[[Delivered], None],
        stays: Callable[[Message], bool],
        bell: Bell,
        *,
        clock: Callable[[], int] = time.time_ns,
        chance: Callable[[], float] = random.random,
        pause: Callable[[int, float, float | None], float] = retrying.pause,
    ) -> None:
        self.queue = Queue()
        self.disabled = False
        self._terms, self._post, self._metrics, self._settled, self._bell = terms, post, metrics, settled, bell
        self._stays = stays
        self._clock, self._chance, self._pause = clock, chance, pause
        self._loop = asyncio.get_running_loop()
        self._slots = asyncio.Semaphore(terms.concurrency)
        self._held_until = 0.0
        self._longest = min(retrying.LATEST, terms.max_age / NANOS)

    async def run(self) -> None:
        """Send what is due and give up what is too old, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._leave_old())
            while True:
                await self._bell.until(self._is_due, self._until_due)
                await self._slots.acquire()
                if waiting := self._next():
                    tasks.create_task(self._send(waiting))
                else:
                    self._slots.release()

    def _next(self) -> Waiting | None:
        if not self._is_due():
            return None
        waiting = self.queue.take()
        if self._stays(waiting.message):
            return waiting
        self.queue.done(waiting.message.key)
        return None

    def _is_due(self) -> bool:
        wait = self._until_due()
        return wait is not None and wait <= 0

    def _until_due(self) -> float | None:
        due = self.queue.next_due
        return None if due is None else max(max(due, self._held_until) - self._loop.time(), 0.0)

    async def _leave_old(self) -> None:
        """Give up what gets too old while it waits: it may be held for longer."""
        while True:
            await self._bell.until(self._is_old, self._until_old)
            now = self._clock()
            old = self.queue.take_old(now - self._terms.max_age)
            self.give_up([self._done(waiting, GIVEN_UP, now) for waiting in old], "the receiver let them wait")
            self._bell.ring()

    def _is_old(self) -> bool:
        wait = self._until_old()
        return wait is not None and wait <= 0

    def _until_old(self) -> float | None:
        oldest = self.queue.oldest()
        return None if oldest is None else (oldest + self._terms.max_age - self._clock()) / NANOS

    async def _send(self, waiting: Waiting) -> None:
        try:
            sent, outcome, asked = await self._attempt(waiting)
        finally:
            self._slots.release()
        self._metrics.attempted(self._terms.name, outcome)
        waiting.attempts += 1
        now = self._clock()
        if sent:
            is_news = waiting.attempts == 1 and waiting.message.event is Event.FOUND
            delay = now - waiting.message.received if is_news else None
            self._metrics.sent(self._terms.name, waiting.message.event, delay)
            self._settled(self._done(waiting, SENT, now))
        elif outcome == str(GONE):
            self._disable()
        elif now - waiting.message.since > self._terms.max_age:
            self.give_up([self._done(waiting, GIVEN_UP, now)], outcome)
        else:
            self._put_back(waiting, outcome, asked)
        self._bell.ring()

    async def _attempt(self, waiting: Waiting) -> tuple[bool, str, float | None]:
        """Whether the receiver took it, a word on the outcome, and the seconds that it asks for."""
        body, seconds = waiting.message.body, self._clock() // NANOS
        try:
            answer = await self._post.post(headers(self._terms.keys, waiting.message.id, seconds, body), body)
        except DeliveryError as error:
            return False, error.reason, None
        return answer.status in GOOD, str(answer.status), self._asked(answer.retry_after)

    def _put_back(self, waiting: Waiting, outcome: str, asked: float | None) -> None:
        if self.disabled:
            return
        wait = self._pause(waiting.attempts, self._chance(), asked)
        due = self._loop.time() + wait
        if waiting.attempts == 1:
            name, what = self._terms.name, waiting.message.id
            log.warning("webhook %s: %s is tried again in %.0f s (%s)", name, what, wait, outcome)
        if not outcome.isdecimal() or int(outcome) in THROTTLED:  # it is the receiver that cannot, not this event
            self._held_until = max(self._held_until, due)
        self.queue.again(waiting, due)

    def _asked(self, retry_after: str) -> float | None:
        return retrying.retry_after(retry_after, self._clock() / NANOS, self._longest)

    def give_up(self, told: Sequence[Delivered], why: str) -> None:
        """Try these no longer, nor at all."""
        if told:
            name, first = self._terms.name, told[0]
            what, example = counted(len(told), "event"), message_id(name, first.fingerprint, first.event)
            log.warning("webhook %s gives up %s, too old by now (%s), from %s on", name, what, why, example)
            self._metrics.given_up(name, len(told))
        for one in told:
            self._settled(one)

    def _done(self, waiting: Waiting, state: str, now: int) -> Delivered:
        m = waiting.message
        self.queue.done(m.key)
        return Delivered(self._terms.name, m.trace_id, m.fingerprint, m.event, state, now, m.received)

    def _disable(self) -> None:
        if not self.disabled:
            log.error("webhook %s is gone (410) and switched off until the next start", self._terms.name)
        self.disabled = True
        self.queue.close()
