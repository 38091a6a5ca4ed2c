"""Group commit: what arrives while one insert runs shares the next one.

`submit` runs on the event loop and only queues; rows are built and inserted in one worker thread. Each submitter is
answered after the commit of its own batch.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tracejury.schemas.batch import Batch
from tracejury.schemas.config_base import MIB
from tracejury.schemas.errors import OverloadedError, RetryableError

from .committer import Committed, Committer, Hearer, Outcome, WriterCounters
from .config import WriterConfig
from .dead_letter import DeadLetterFolder
from .shared_store import SharedStore

log = logging.getLogger(__name__)

_CLOSED = "the collector is shutting down"
_OF_OURS = "the request could not be stored for a reason of ours: try again"
_DISK_RETRY_SECONDS = 30.0


LINGER_SECONDS = 0.05
"""How long an insert waits for requests that are being decoded."""


@dataclass(slots=True)
class _Waiting:
    batch: Batch
    done: asyncio.Future[int]


def dead_letter_folder(store: SharedStore, config: WriterConfig) -> DeadLetterFolder:
    """The configured dead-letter folder, by default beside the store."""
    folder = Path(config.dead_letter) if config.dead_letter else store.data_folder / "dead-letter"
    return DeadLetterFolder(folder, config.max_dead_letter_bytes)


class GroupCommitWriter:
    """The `Sink` in front of the store.

    `in_flight`: requests that are being decoded or wait here. While more of them are being decoded than wait, an insert
    waits for them, at most `linger` seconds: fewer, larger inserts leave the engine less to merge.
    """

    def __init__(
        self,
        store: SharedStore,
        config: WriterConfig | None = None,
        hearer: Hearer | None = None,
        *,
        dead_letters: DeadLetterFolder | None = None,
        in_flight: Callable[[], int] = lambda: 0,
        linger: float = LINGER_SECONDS,
        free_bytes: Callable[[], int | None] | None = None,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        """`free_bytes`: free disk space (None: unknown), by default that of the store's disk; `clock`: unix nanos."""
        self._config = config = config or WriterConfig()
        self.counters = WriterCounters()
        self.dead_letters = dead_letters or dead_letter_folder(store, config)
        self._committer = Committer(
            store, self.dead_letters, self.counters, hearer, attempts=config.attempts, clock=clock
        )
        self._in_flight, self._linger = in_flight, linger
        self._free_bytes = free_bytes or store.free_bytes
        self._queue: deque[_Waiting] = deque()
        self._arrived = asyncio.Event()
        self._bytes = 0
        self._batches = 0
        self._accepting = False
        self._task: asyncio.Task[None] | None = None
        self._worker: ThreadPoolExecutor | None = None

    @property
    def queue_bytes(self) -> int:
        """Bytes of the batches that wait or are being inserted."""
        return self._bytes

    @property
    def queue_batches(self) -> int:
        """Number of the batches that wait or are being inserted."""
        return self._batches

    def set_aside(self, signal: str, encoding: str, body: bytes, tenant: str = "") -> None:
        """Keep the body of a request that could not even be decoded. Blocks; safe from any thread. Raises OSError."""
        file = self.dead_letters.keep_body(signal, encoding, body, tenant)
        self.counters.dead_lettered += file is not None

    def disk_problem(self) -> str:
        """That every request is refused until the disk has more room; "" where it is not."""
        with suppress(OSError):  # of a folder that cannot be used others tell
            return self._disk_full()
        return ""

    async def start(self) -> None:
        """Accept batches; idempotent."""
        if self._task is not None:
            return
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="tracejury-writer")
        self._accepting = True
        if full := self.disk_problem():
            log.warning("%s: requests are refused until there is room", full)
        self._task = asyncio.create_task(self._run(), name="tracejury-writer")

    async def stop(self, deadline: float) -> None:
        """Refuse new batches and commit those that wait, for `deadline` seconds at most; then refuse the rest.

        Safe without `start`, idempotent. All refusals are retryable.
        """
        self._accepting = False
        task, self._task = self._task, None
        if task is None:
            return
        self._arrived.set()
        _, late = await asyncio.wait({task}, timeout=deadline)
        if late:
            task.cancel()
            await asyncio.wait({task})
        while self._queue:
            self._refuse(self._queue.popleft(), RetryableError(_CLOSED))
        if self._worker is not None:
            self._worker.shutdown(wait=not late, cancel_futures=True)

    async def submit(self, batch: Batch) -> int:
        """See `Sink.submit`; an empty batch is committed at once."""
        if not batch:
            return 0
        try:
            self._admit(batch)
        except RetryableError:
            self.counters.refused_batches += 1
            raise
        waiting = _Waiting(batch, asyncio.get_running_loop().create_future())
        self._queue.append(waiting)
        self._bytes += batch.size
        self._batches += 1
        self._arrived.set()
        return await waiting.done

    def _admit(self, batch: Batch) -> None:
        config = self._config
        if not self._accepting:
            raise RetryableError(_CLOSED)
        full = self._bytes + batch.size > config.max_queue_bytes or self._batches >= config.max_queue_requests
        if full and self._batches:  # one that alone is above the bound still passes, by itself
            raise OverloadedError(
                f"the write queue is full: {self._batches} requests of {self._bytes} bytes wait, at most "
                f"{config.max_queue_requests} (writer.max_queue_requests) of {config.max_queue_bytes} bytes "
                "(writer.max_queue_bytes)"
            )
        self.check_disk()

    def check_disk(self) -> None:
        """Raises RetryableError: the disk has no room, or the store's folder cannot be used."""
        try:
            disk_full = self._disk_full()
        except OSError as error:
            raise RetryableError(f"the store's folder cannot be used: {error.strerror}") from error
        if disk_full:
            raise RetryableError(disk_full, retry_after=_DISK_RETRY_SECONDS)

    def _disk_full(self) -> str:
        """That less is free than must stay free, in words; "" where there is enough. Raises OSError."""
        free, least = self._free_bytes(), self._config.min_free_bytes
        if free is None or free >= least:
            return ""
        return (
            f"the store's disk is nearly full: {free // MIB} MiB are free, "
            f"{least // MIB} MiB must stay free (writer.min_free_bytes)"
        )

    async def _run(self) -> None:
        while self._queue or self._accepting:
            if self._queue:
                await self._gather()
                await self._commit(self._take_group())
            else:
                self._arrived.clear()
                await self._arrived.wait()

    async def _gather(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._linger):
                while self._is_worth_waiting():
                    self._arrived.clear()
                    await self._arrived.wait()

    def _is_worth_waiting(self) -> bool:
        has_room = self._accepting and self._bytes < self._config.max_group_bytes
        return has_room and 2 * len(self._queue) < self._in_flight()

    async def _commit(self, group: list[_Waiting]) -> None:
        batches = [waiting.batch for waiting in group]
        try:
            outcomes = await asyncio.get_running_loop().run_in_executor(self._worker, self._committer.commit, batches)
        except asyncio.CancelledError:
            # The insert may still succeed: its senders are told to send again, which stores nothing twice.
            for waiting in group:
                self._refuse(waiting, RetryableError(_CLOSED))
            raise
        except Exception:  # the loop must live: nobody would be answered any more
            log.exception("a group of %d requests could not be committed", len(group))
            for waiting in group:
                self._refuse(waiting, RetryableError(_OF_OURS))
            return
        for waiting, outcome in zip(group, outcomes, strict=True):
            self._answer(waiting, outcome)

    def _take_group(self) -> list[_Waiting]:
        group = [self._queue.popleft()]
        size, items = group[0].batch.size, len(group[0].batch)
        while self._queue:
            batch = self._queue[0].batch
            size, items = size + batch.size, items + len(batch)
            if size > self._config.max_group_bytes or items > self._config.max_group_items:
                break
            group.append(self._queue.popleft())
        return group

    def _answer(self, waiting: _Waiting, outcome: Outcome) -> None:
        if not isinstance(outcome, Committed):
            self._refuse(waiting, outcome)
            return
        self._release(waiting)
        stored = outcome.stored
        self.counters.committed_spans += len(stored.spans)
        self.counters.committed_logs += len(stored.logs)
        if not waiting.done.done():  # its sender may have gone
            waiting.done.set_result(len(waiting.batch) - len(stored))

    def _refuse(self, waiting: _Waiting, error: Exception) -> None:
        self._release(waiting)
        if isinstance(error, RetryableError):
            self.counters.refused_batches += 1
        else:
            self.counters.failed_batches += 1
        if not waiting.done.done():
            waiting.done.set_exception(error)

    def _release(self, waiting: _Waiting) -> None:
        self._bytes -= waiting.batch.size
        self._batches -= 1
