"""A durable background worker: takes what is due, processes it, saves the result; repeats what failed."""

from __future__ import annotations

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager, nullcontext
from typing import Final, Generic, TypeVar

from tracejury.schemas.errors import RetryableError

from .keyed_queue import Item, KeyedQueue
from .outage_log import SECOND, OutageLog
from .poison_tracker import PoisonTracker
from .retry import RetryPolicy
from .wake_event import WakeEvent

log = logging.getLogger(__name__)

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")
R = TypeVar("R")

STORE_RETRY: Final = RetryPolicy(first=1.0, longest=60.0)


class GroupError(Exception):
    """A batch failed together with items that were not in it, which wait by now: each goes alone from here on."""

    def __init__(self, keys: Sequence[Hashable]) -> None:
        super().__init__(f"failed together with {len(keys)} others")
        self.keys = keys


class Work(ABC, Generic[T, R]):
    """One kind of work. It owns neither thread nor loop, and its methods may block; the store behind it is durable.

    `due`, `process` and `save` raise RetryableError for a failure that may pass, else any exception.
    """

    @abstractmethod
    def due(self, now: int) -> Sequence[T]:
        """The next batch at `now` (unix nanos), in order; empty: nothing is due. What is taken is done or put back."""

    @abstractmethod
    def process(self, batch: Sequence[T]) -> R:
        """The result of a batch that is to be saved."""

    @abstractmethod
    def save(self, result: R) -> None:
        """Store it."""

    def next_due(self) -> int | None:
        """When to look again though nothing wakes the worker (unix nanos); None: never."""
        return None

    def done(self, batch: Sequence[T]) -> None:
        """Forget a batch: it is saved, or set aside."""

    def put_back(self, batch: Sequence[T], not_before: int) -> None:
        """Have items wait again, until `not_before` (unix nanos)."""

    def key(self, item: T) -> Hashable:
        """The item's key while it is suspected of failing each time."""
        return item

    def set_aside(self, item: T, error: Exception) -> None:
        """Go on without an item that failed each time it was tried."""

    def proves_success(self, _result: R) -> bool:
        """Whether a saved result shows that items can be processed, so that one that fails does for its own reason."""
        return True


class QueueWork(Work[Item[K, V], R], ABC):
    """Work on the items of a queue, up to `limit` at a time."""

    def __init__(self, queue: KeyedQueue[K, V], limit: int | None = None) -> None:
        self.queue, self._limit = queue, limit

    def due(self, now: int) -> Sequence[Item[K, V]]:
        """See `Work`."""
        return self.queue.take(now, self._limit)

    def next_due(self) -> int | None:
        """See `Work`."""
        return self.queue.next_due()

    def done(self, batch: Sequence[Item[K, V]]) -> None:
        """See `Work`."""
        self.queue.done(batch)

    def put_back(self, batch: Sequence[Item[K, V]], not_before: int) -> None:
        """See `Work`."""
        self.queue.put_back(batch, not_before)

    def key(self, item: Item[K, V]) -> Hashable:
        """See `Work`."""
        return item.key


class Task(Work[None, None]):
    """A call that is repeated at an interval: the worker's `every`."""

    def __init__(self, call: Callable[[], object]) -> None:
        self._call = call

    def due(self, _now: int) -> Sequence[None]:
        """Always one call."""
        return (None,)

    def process(self, _batch: Sequence[None]) -> None:
        """Make the call."""
        self._call()

    def save(self, result: None) -> None:
        """Nothing is left to save."""


class Worker(Generic[T, R]):
    """Runs a `Work` on `threads` threads of its own, one batch at a time on each.

    A batch that fails waits on; after a RetryableError the thread pauses as `retry` says. Where another exception meets
    a batch, its items go alone from then on, and one that failed `tries` times by itself while others succeeded is set
    aside; with `tries` 0 nothing is isolated, and any exception is an outage. `isolates_retryable`: the items of a
    batch that met a RetryableError go alone, too.

    `stepping`: held during each step, by default by the only thread.
    `every`: seconds between two batches, which no wake-up shortens; `delay`: seconds before the first one. `drains`: go
    on after `stop` until nothing is due, or something fails. `clock` gives unix nanos.
    """

    def __init__(
        self,
        name: str,
        work: Work[T, R],
        outage: OutageLog,
        *,
        wake: WakeEvent | None = None,
        retry: RetryPolicy = STORE_RETRY,
        tries: int = 0,
        isolates_retryable: bool = False,
        threads: int = 1,
        stepping: AbstractContextManager[object] | None = None,
        every: float = 0.0,
        delay: float = 0.0,
        drains: bool = False,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self.work, self.outage, self.stopping = work, outage, threading.Event()
        self.wake_event = wake or WakeEvent()
        self._name, self._retry, self._clock = name, retry, clock
        self.poison, self._isolates_retryable = PoisonTracker(tries), isolates_retryable
        self._count, self._every, self._delay, self._drains = threads, every, delay, drains
        self._stepping = stepping or (threading.RLock() if threads == 1 else nullcontext())
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Start the threads."""
        names = [self._name if self._count == 1 else f"{self._name} {n}" for n in range(1, self._count + 1)]
        self._threads = [threading.Thread(target=self._run, name=name, daemon=True) for name in names]
        for thread in self._threads:
            thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether a thread runs."""
        return any(thread.is_alive() for thread in self._threads)

    def stop(self, deadline: float) -> bool:
        """End within `deadline` seconds; returns whether it has. Idempotent, safe without start.

        What is not saved by then is found in the store by the next process.
        """
        self.stopping.set()
        self.wake_event.wake()
        until = time.monotonic() + deadline
        for thread in self._threads:
            thread.join(max(until - time.monotonic(), 0.0))
        return not self.is_alive

    def step(self) -> bool:
        """Take one batch, process and save it; False: nothing is due. From any thread.

        Raises:
            Exception: what stopped it; its items wait on, and a pause is due.
        """
        with self._stepping:
            return self._step()

    def _step(self) -> bool:
        batch = self._due()
        if not batch:
            return False
        try:
            result = self.work.process(batch)
            self.work.save(result)
        except CancelledError:
            self.work.put_back(batch, 0)
            raise
        except RetryableError:
            if self._isolates_retryable:
                self.poison.suspect(map(self.work.key, batch))
            self.work.put_back(batch, 0)
            raise
        except Exception as error:
            if not self.poison.tries:
                self.work.put_back(batch, 0)
                raise
            self._isolate(batch, error)
        else:
            self.poison.clear(map(self.work.key, batch))
            self.work.done(batch)
            if self.work.proves_success(result):
                self.poison.succeeded()
        return True

    def pause(self, error: Exception) -> float:
        """Note a failure, and tell how many seconds to wait after it."""
        self.outage.failed(error)
        return self._retry.delay(self.outage.failures, error.retry_after if isinstance(error, RetryableError) else 0.0)

    def _due(self) -> Sequence[T]:
        batch = self.work.due(self._clock())
        if not len(self.poison):
            return batch
        batch, later = self.poison.split(batch, self.work.key)
        if later:
            self.work.put_back(later, 0)
        return batch

    def _isolate(self, batch: Sequence[T], error: Exception) -> None:
        """Find the item that fails each time, try it again later, and set it aside in the end.

        Raises:
            Exception: nothing succeeds, whichever item it is: that is no item's fault.
        """
        keys = [self.work.key(item) for item in batch]
        if len(batch) > 1 or isinstance(error, GroupError):
            self.poison.suspect([*keys, *(error.keys if isinstance(error, GroupError) else ())])
            self.work.put_back(batch, 0)
            return
        tries = self.poison.blame(keys[0])
        if tries >= self.poison.tries and not self.poison.is_general:
            try:
                self.work.set_aside(batch[0], error)
            except Exception:
                self.work.put_back(batch, 0)
                raise
            self.poison.clear(keys)
            self.work.done(batch)
            return
        self.work.put_back(batch, self._clock() + round(self._retry.delay(max(tries, 1)) * SECOND))
        if self.poison.is_general:
            raise error

    def _run(self) -> None:
        self.stopping.wait(self._delay)
        while self._drains or not self.stopping.is_set():
            seen = self.wake_event.count
            try:
                worked = self.step()
            except CancelledError:
                return
            except Exception as error:  # noqa: BLE001  nobody else would start this thread again; the log tells it
                pause = self.pause(error)
                if self.stopping.is_set():
                    return
                self.stopping.wait(pause)
                continue
            if not self.poison.is_general:
                self.outage.ended()
            if self.stopping.is_set():
                if not worked:
                    return
            elif self._every:
                self.stopping.wait(self._every)
            elif not worked:
                self.wake_event.wait(seen, self._seconds_left())

    def _seconds_left(self) -> float | None:
        due = self.work.next_due()
        return None if due is None else max((due - self._clock()) / SECOND, 0.0)
