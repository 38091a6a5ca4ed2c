"""Change notifications for open pages, from the judging threads into the event loop.

A subscriber learns that something changed and then asks the store for it. A slow browser therefore costs one flag and a
bounded list of ids, and misses only the states in between.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final, Self

from cachetools import LRUCache

from tracejury.collector.worker.listeners import JudgedByOthers
from tracejury.schemas.errors import OverloadedError
from tracejury.schemas.findings import Finding
from tracejury.schemas.trajectory import Trace
from tracejury.schemas.verdicts import JudgedSubject, JudgedTrace, Outcome

MAX_SUBSCRIBERS: Final = 256
MAX_OF_ONE: Final = 64
"""Subscribers of one client address."""

MAX_IDS: Final = 500
"""Changed findings that wait for a subscriber; of more, only the latest."""

MAX_REMEMBERED: Final = 10_000
"""Traces whose version is remembered."""


class Subscriber:
    """One open page of a client's address. `trace_id` "" watches all traces.

    Use it as an async context manager, in the event loop.
    """

    def __init__(self, change_feed: ChangeFeed, trace_id: str, client: str) -> None:
        self.trace_id, self.client = trace_id, client
        self._change_feed = change_feed
        self._loop = asyncio.get_running_loop()
        self._event, self._ended = asyncio.Event(), asyncio.Event()
        self._lock = threading.Lock()
        self._woken = False
        self._states: LRUCache[str, str] = LRUCache(MAX_IDS)
        self.closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._change_feed.unsubscribe(self)

    def wake(self, states: Mapping[str, str]) -> None:
        """Report a change; `states`: of findings, by id. Callable from any thread."""
        with self._lock:
            self._states.update(states)
            if self._woken:
                return
            self._woken = True
        self._wake()

    def close(self) -> None:
        """End the subscription. Callable from any thread."""
        self.closed = True
        self._wake()
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._ended.set)

    async def wait(self, seconds: float) -> Mapping[str, str] | None:
        """Wait for a change: the states of findings that changed, None where nothing did in that time."""
        try:
            async with asyncio.timeout(seconds):
                await self._event.wait()
        except TimeoutError:
            return None
        with self._lock:
            self._event.clear()
            self._woken = False
            states, self._states = self._states, LRUCache(MAX_IDS)
        return states

    async def pause(self, seconds: float) -> None:
        """Wait so long, or until the subscription is closed."""
        try:
            async with asyncio.timeout(seconds):
                await self._ended.wait()
        except TimeoutError:
            return

    def _wake(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._event.set)
        except RuntimeError:  # the loop has ended, and with it everybody who waits
            self.closed = True


class ChangeFeed:
    """The subscribers of one tenant's pages; a listener to judging."""

    def __init__(
        self,
        cache_judged: Callable[[Trace], None],
        tenant: str = "",
        most: int = MAX_SUBSCRIBERS,
        most_of_one: int = MAX_OF_ONE,
        read_again: Callable[[Sequence[str]], Iterable[Finding]] = lambda _ids: (),
    ) -> None:
        """`read_again`: the findings of traces that other processes have judged."""
        self._read_again = read_again
        self._cache_judged, self._tenant, self._most, self._most_of_one = cache_judged, tenant, most, most_of_one
        self._lock = threading.Lock()
        self._subscribers: set[Subscriber] = set()
        self._boot = secrets.token_hex(4)
        self._count = 0
        self._last: LRUCache[str, int] = LRUCache(MAX_REMEMBERED)
        self._stopped = False

    def traces_judged(self, traces: Sequence[JudgedTrace]) -> None:
        """Publish what detectors found."""
        for one in traces:
            if one.trace.tenant != self._tenant:
                continue
            if one.judgement.outcome is Outcome.DONE and not one.trace.joined_to:
                self._cache_judged(one.trace)
            ids = {one.trace.trace_id, one.trace.joined_to} - {""}
            self._publish(ids, (*one.changed, *one.retracted))

    def subjects_judged(self, subjects: Sequence[JudgedSubject]) -> None:
        """Publish what LLM judges found."""
        for one in subjects:
            ids = {j.subject.trace_id for j in one.judgements if j.subject.tenant == self._tenant}
            if ids:
                self._publish(ids, (*one.changed, *one.retracted))

    def judged_by_others(self, traces: Sequence[JudgedByOthers]) -> None:
        """Publish what other processes found. Raises RetryableError, StoreError: pages find it when they ask again."""
        if ids := sorted({one.key[1] for one in traces if one.key[0] == self._tenant}):
            self._publish(ids, self._read_again(ids))

    def publish(self, trace_id: str) -> None:
        """Tell subscribers of a trace that something besides findings changed: a label."""
        self._publish({trace_id}, ())

    def subscribe(self, trace_id: str = "", client: str = "") -> Subscriber:
        """A new subscriber; `client`: its address, "" if unknown.

        Raises:
            OverloadedError: there are too many, or too many of that address.
        """
        with self._lock:
            self._check_capacity(client)
            made = Subscriber(self, trace_id, client)
            self._subscribers.add(made)
        return made

    def check_capacity(self, client: str = "") -> None:
        """Raise OverloadedError where one more subscriber of that address would be too many."""
        with self._lock:
            self._check_capacity(client)

    def _check_capacity(self, client: str) -> None:
        if self._stopped or len(self._subscribers) >= self._most:
            raise OverloadedError("too many live pages are open: this one does not go on by itself", retry_after=30)
        if client and sum(one.client == client for one in self._subscribers) >= self._most_of_one:
            raise OverloadedError(
                f"{self._most_of_one} live pages are open at your address: this one does not go on by itself until "
                "one of them is closed",
                retry_after=30,
            )

    def unsubscribe(self, subscriber: Subscriber) -> None:
        """Remove a subscriber."""
        with self._lock:
            self._subscribers.discard(subscriber)

    def version(self, trace_id: str) -> str:
        """The version of a trace, for `is_behind`; versions of different processes never match."""
        with self._lock:
            return f"{self._boot}-{self._last.get(trace_id, 0)}"

    def is_behind(self, trace_id: str, version: str) -> bool:
        """Whether something may have changed since that version."""
        return bool(version) and version != self.version(trace_id)

    async def stop(self, _deadline: float = 0) -> None:
        """End all streams, since the server waits for them."""
        self.end()

    def end(self) -> None:
        """End all streams; callable from any thread."""
        with self._lock:
            self._stopped = True
            subscribers = list(self._subscribers)
        for subscriber in subscribers:
            subscriber.close()

    def _publish(self, trace_ids: Iterable[str], findings: Iterable[Finding]) -> None:
        ids = set(trace_ids)
        with self._lock:
            self._count += 1
            self._last.update(dict.fromkeys(ids, self._count))
            told = [s for s in self._subscribers if not s.trace_id or s.trace_id in ids]
        if told:
            states = {f.id: f.state.value for f in findings}
            for subscriber in told:
                subscriber.wake(states)
