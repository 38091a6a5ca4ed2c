"""One webhook at work: what it is to be told is read from the store, sent, and marked there; nothing else is kept."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, Final, Protocol, TypeVar

from ....schemas.errors import RetryableError, TracejuryError
from ....schemas.queries.webhook_events import GIVEN_UP, Delivered, Event, Found, Looked, Message
from ...worker.wake_event import Bell
from .metrics import WebhookMetrics
from .payload import message
from .rules import news
from .sender import Post, Sender
from .waiting import Hints
from .webhook_spec import Terms

log = logging.getLogger(__name__)

ROOM: Final = 1000
"""Events that wait in memory; the rest waits in the store."""
LOOK: Final = 100
"""Traces looked at in one go."""
STORE_SECONDS: Final = 1.0
STORE_BROKEN_SECONDS: Final = 60.0

QUIET_NANOS: Final = 3600 * 10**9
"""How often it is kept that nothing waits: from the last time on a sweep must look."""

T = TypeVar("T")


class DeliveryStore(Protocol):
    """What a webhook reads and writes; all but `stays` blocks and raises RetryableError, StoreError."""

    def since(self, webhook: str) -> int:
        """When it was first set up, unix nanos."""

    def quiet(self, webhook: str) -> int:
        """When nothing waited for it the last time, as far as is kept, unix nanos; 0: never."""

    def keep_quiet(self, webhook: str, at: int) -> None:
        """Keep that nothing waited for it then."""

    def recent(self, changed: int, since: int, after: str, limit: int) -> Sequence[str]:
        """Traces with findings that changed, by id."""

    def look(self, webhook: str, trace_ids: Sequence[str]) -> Looked:
        """Findings and what the webhook was told of them."""

    def mark(self, delivered: Sequence[Delivered]) -> None:
        """Keep what it was told, but of traces that are deleted since."""

    def stays(self, trace_id: str, received: int) -> bool:
        """Whether what was said of a trace as it was then (unix nanos) may be told: it is not deleted since."""


class Hook:
    """Runs one webhook in the event loop: `run` until cancelled; `hint` from any thread. `sending`: as `Sender` has."""

    def __init__(
        self,
        terms: Terms,
        store: DeliveryStore,
        post: Post,
        metrics: WebhookMetrics,
        *,
        clock: Callable[[], int] = time.time_ns,
        **sending: Any,
    ) -> None:
        self._terms, self._store, self._clock = terms, store, clock
        self._bell = Bell()
        self._hints = Hints(self._bell.ring_from_afar)
        self._loop = asyncio.get_running_loop()
        self._sender = Sender(terms, post, metrics, self._keep, self._still, self._bell, clock=clock, **sending)
        self._marks: list[Delivered] = []
        self._marked: set[tuple[str, Event]] = set()  # since the look at hand began
        self._revisit: set[str] = set()
        self._since = self._quiet_at = 0
        self._looking = True
        self._swept_to: str | None = None  # while a sweep goes on

    @property
    def waiting(self) -> int:
        """Events that wait in memory or are being sent."""
        return len(self._sender.queue)

    @property
    def disabled(self) -> bool:
        """Whether the receiver is gone for good."""
        return self._sender.disabled

    def hint(self, trace_ids: Sequence[str]) -> None:
        """These traces have changed; from any thread, returns at once."""
        if not self.disabled:
            self._hints.put(trace_ids)

    def forget(self, trace_ids: Collection[str]) -> None:
        """These traces are being deleted; from any thread, returns at once."""
        self._loop.call_soon_threadsafe(self._sender.queue.forget, frozenset(trace_ids))

    async def run(self) -> None:
        """Look, send and mark until cancelled; what is then unmarked is found again by the next process."""
        async with asyncio.TaskGroup() as tasks:
            for work in (self._look_on, self._sender.run, self._mark_on, self._note_on):
                tasks.create_task(work(), name=f"webhook {self._terms.name}")

    async def _look_on(self) -> None:
        self._since = await self._patiently(partial(self._store.since, self._terms.name))
        self._quiet_at = await self._patiently(partial(self._store.quiet, self._terms.name)) or self._since
        while True:
            self._looking = False
            await self._bell.until(self._may_look)
            self._looking = True
            traces = self._hints.take(LOOK) or await self._sweep()
            if traces:
                await self._look(traces)
            self._bell.ring()

    def _may_look(self) -> bool:
        more = len(self._hints) or self._swept_to is not None or self._hints.overflown
        return bool(more) and self.waiting + len(self._marks) < ROOM and not self.disabled

    def _is_quiet(self) -> bool:
        more = self._looking or len(self._hints) or self._swept_to is not None or self._hints.overflown
        is_due = self._clock() - self._quiet_at >= QUIET_NANOS
        return not (more or self.waiting or self._marks or self.disabled) and is_due

    async def _note_on(self) -> None:
        while True:
            await self._bell.until(self._is_quiet)
            now = self._clock()
            await self._patiently(partial(self._store.keep_quiet, self._terms.name, now))
            self._quiet_at = now

    async def _sweep(self) -> Sequence[str]:
        """The next traces of a pass over all that may still wait: too old, it is given up, not passed over."""
        if self._swept_to is None:
            self._hints.overflown, self._swept_to = False, ""
        margin = max(self._terms.max_age, QUIET_NANOS)  # what was judged by then may have been stored later
        changed = max(min(self._quiet_at, self._clock()) - margin, 0)
        traces = await self._patiently(partial(self._store.recent, changed, self._since, self._swept_to, LOOK))
        self._swept_to = traces[-1] if traces else None
        return traces

    async def _look(self, traces: Sequence[str]) -> None:
        self._marked.clear()  # what is marked from here on, the look may not see
        looked = await self._patiently(partial(self._store.look, self._terms.name, traces))
        known = self._marked | {(m.fingerprint, m.event) for m in self._marks}
        queue, now, old = self._sender.queue, self._clock(), []
        for event, found in news(looked, self._terms.rules, self._since):
            key = found.finding.fingerprint, event
            if key in known or queue.knows(key) or not self._store.stays(found.finding.trace_id, found.received):
                continue
            if now - found.judged_at > self._terms.max_age:
                old.append(self._given_up(event, found, now))
            elif self.waiting < ROOM:
                queue.put(message(self._terms.name, event, found, self._terms.base), self._loop.time())
            else:
                self._hints.overflown = True
                break
        self._sender.give_up(old, "they waited in the store")
        if self._terms.rules.retractions:
            # Of what is under way it cannot be told yet whether a retraction is due.
            keys = {(f.finding.fingerprint, Event.FOUND): f.finding.trace_id for f in looked.found}
            self._revisit |= {trace_id for key, trace_id in keys.items() if key in known or queue.knows(key)}

    def _given_up(self, event: Event, found: Found, now: int) -> Delivered:
        finding = found.finding
        name = self._terms.name
        return Delivered(name, finding.trace_id, finding.fingerprint, event, GIVEN_UP, now, found.received)

    def _still(self, message: Message) -> bool:
        stays = self._store.stays(message.trace_id, message.received)
        if not stays:  # what arrived since and says the same was taken for what waited
            self._hints.put([message.trace_id])
        return stays

    def _keep(self, delivered: Delivered) -> None:
        self._marks.append(delivered)

    async def _mark_on(self) -> None:
        while True:
            await self._bell.until(lambda: bool(self._marks))
            marks = tuple(self._marks)
            await self._patiently(partial(self._store.mark, marks))
            del self._marks[: len(marks)]
            self._marked |= {(m.fingerprint, m.event) for m in marks}
            again = {m.trace_id for m in marks} & self._revisit
            self._revisit -= again
            again |= {m.trace_id for m in marks if not self._store.stays(m.trace_id, m.received)}
            self._hints.put(again)

    async def _patiently(self, ask: Callable[[], T]) -> T:
        """What `ask`, which blocks, gives once the store answers."""
        while True:
            try:
                return await asyncio.to_thread(ask)
            except TracejuryError as error:
                log.warning("webhook %s waits for the store: %s", self._terms.name, error)
                seconds = error.retry_after if isinstance(error, RetryableError) else STORE_BROKEN_SECONDS
                await asyncio.sleep(max(seconds, STORE_SECONDS))
