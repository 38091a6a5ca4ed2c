"""Stores the texts of complete traces for search: beside judging, many texts at once.

A text costs the store more than all findings of its trace, and nobody waits for it as for a finding.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Final

from tracejury.collector.store.texts import StoredTexts, TraceText, text_of
from tracejury.collector.worker.keyed_queue import Item, KeyedQueue
from tracejury.collector.worker.listeners import TAKE_UP
from tracejury.collector.worker.outage_log import OutageLog
from tracejury.collector.worker.worker import QueueWork, Worker
from tracejury.processors.assemble import SECOND, TraceKey
from tracejury.schemas.errors import RetryableError
from tracejury.schemas.verdicts import JudgedSubject, JudgedTrace

log = logging.getLogger(__name__)

EVERY_SECONDS: Final = 3.0
"""Between two inserts."""
MAX_CHARACTERS: Final = 64_000_000
"""Characters that wait; whoever brings more stores them first."""
MAX_TEXTS: Final = 1_000_000
MAX_UNREAD: Final = 100_000
"""Traces without room for their text that are remembered, to be read again once the store works."""
READ_AT_ONCE: Final = 200
"""Traces whose spans are read between two inserts: what an earlier process left is not worth a load."""
SWEEP_LIMIT: Final = 10_000
NEVER: Final = 2**63 - 1


class TextWriter(QueueWork[TraceKey, TraceText, Sequence[TraceText]]):
    """A listener to judging with a worker of its own.

    Make it before anything is judged: `clock` (unix nanos) tells what an earlier process judged. `sweeps_every`: nanos
    after which to look for what other processes left, None where there are none. `lost` counts traces
    that nobody can search until they are judged again.
    """

    def __init__(
        self,
        store: StoredTexts,
        *,
        max_characters: int = MAX_CHARACTERS,
        every: float = EVERY_SECONDS,
        sweeps_every: int | None = None,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        super().__init__(KeyedQueue(MAX_TEXTS, max_weight=max_characters, weigh=lambda text: text.size))
        self.lost = 0
        self._store, self._max_characters = store, max_characters
        self._before = clock()
        self._unread: KeyedQueue[TraceKey, None] = KeyedQueue(MAX_UNREAD)
        self._is_started, self._sweeps_every = False, sweeps_every
        self._sweep_at = 0
        outage = OutageLog("texts for search", "wait for the store", "are stored again", clock)
        self.worker = Worker("texts", self, outage, tries=1, every=every, delay=every, drains=True, clock=clock)

    def __len__(self) -> int:
        return len(self.queue) + self.queue.in_flight + len(self._unread)

    def start(self) -> None:
        """Start the worker; it first makes the texts that an earlier process left out."""
        self._is_started = True
        self.worker.start()

    def stop(self, deadline: float) -> None:
        """Store what waits, within `deadline` seconds; the next start asks for the rest. Idempotent."""
        self.worker.stop(deadline)

    def traces_judged(self, traces: Sequence[JudgedTrace]) -> None:
        """Take the texts of those that are complete."""
        for text in filter(None, map(text_of, traces)):
            if self.queue.put(text.key, text):
                continue
            self._try_flush()
            if not (self.queue.put(text.key, text) or self._unread.put(text.key, None)):
                self.lost += 1
        if self.queue.weight > self._max_characters:
            self._try_flush()

    def subjects_judged(self, subjects: Sequence[JudgedSubject]) -> None:
        """Nothing: what LLM judges find is searched in their findings."""

    def flush(self) -> None:
        """Store what waits. Raises RetryableError: it waits on."""
        while self.worker.step():
            pass

    def due(self, now: int) -> Sequence[Item[TraceKey, TraceText]]:
        """See `Work`; missing texts are made while the store works."""
        if self._is_started and not self.worker.stopping.is_set():
            if now >= self._sweep_at:
                self._sweep(now)
            if not self.worker.outage.failures:
                self._read(now)
        return super().due(now)

    def process(self, batch: Sequence[Item[TraceKey, TraceText]]) -> Sequence[TraceText]:
        """See `Work`."""
        return [item.value for item in batch]

    def save(self, result: Sequence[TraceText]) -> None:
        """See `Work`."""
        self._store.keep(result)

    def set_aside(self, item: Item[TraceKey, TraceText], error: Exception) -> None:
        """See `Work`."""
        self.lost += 1
        log.warning("trace %s cannot be searched: %s", item.key[1], error)

    def _try_flush(self) -> None:
        try:
            self.flush()
        except Exception as error:  # noqa: BLE001  it waits on, and the log tells it
            self.worker.pause(error)

    def _sweep(self, now: int) -> None:
        others = self._sweeps_every
        before = self._before if others is None else now - round(TAKE_UP.longest * SECOND)
        try:
            keys = self._store.missing(before, SWEEP_LIMIT)
        except RetryableError:
            raise
        except Exception:
            log.exception("what an earlier process left without a text for search is not known")
            keys = []
        self._sweep_at = NEVER if others is None else now + others
        self._unread.put_keys(keys)

    def _read(self, now: int) -> None:
        items = self._unread.take(now, READ_AT_ONCE)
        for number, item in enumerate(items):
            try:
                text = self._store.read(item.key)
            except RetryableError:
                self._unread.put_back(items[number:])
                raise
            except Exception:
                log.exception("trace %s cannot be searched", item.key[1])
                self.lost, text = self.lost + 1, None
            self._unread.done([item])
            # What is judged meanwhile brings a newer text, and waits under the same key.
            if text is not None and item.key not in self.queue and not self.queue.put(item.key, text):
                self._unread.put(item.key, None)
