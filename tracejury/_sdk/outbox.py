"""The export queue and its thread: the agent never waits for the network.

Producers only append to queues that are safe against signals and re-entry (`deque`, `SimpleQueue`), and wake the thread
only where it waits for them: each wake-up costs the agent's thread the interpreter. Whatever is full drops, and is
counted.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NamedTuple

from opentelemetry.context import _SUPPRESS_INSTRUMENTATION_KEY, attach, set_value
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from .children import flush_at_end_of_child
from .identity import Identity
from .open_spans import OpenSpan, OpenSpans, still_open
from .snapshot import announcement, finished
from .trouble import log_once

BATCH: Final = 256
"""Spans of one export."""


class QueuedSpan(NamedTuple):
    """A span that has begun (`ended` False) or ended; `urgent`: send it at once, not at the next interval."""

    span: ReadableSpan
    identity: Identity
    ended: bool
    urgent: bool


@dataclass(slots=True)
class Counts:
    """Counts of spans. `announced` and `exported` were accepted by the exporter, `failed` were refused by it.

    `dropped`: finished spans for which the queue had no room, or the time to stop no time; `unannounced`: the same of
    announcements, whose finished spans are none the worse for it.
    """

    announced: int = 0
    exported: int = 0
    failed: int = 0
    dropped: int = 0
    unannounced: int = 0


class Outbox:
    """A bounded queue and its thread. `interval` and `pace` in seconds: the longest wait, the shortest between exports.

    `make` gives the exporter. A forked child begins with an empty queue, a thread and an exporter of its own; what the
    parent had to send stays the parent's.
    """

    def __init__(self, make: Callable[[], SpanExporter], *, limit: int, interval: float, pace: float) -> None:
        self._make, self._limit, self._interval, self._pace = make, limit, interval, pace
        self._exporter: SpanExporter | None = make()
        self._begin()
        self._start_thread()

    def _begin(self) -> None:
        self.counts = Counts()
        self._queue: deque[QueuedSpan] = deque()
        self._bell: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._waiting = False  # for the first urgent span
        self._lock = threading.RLock()
        self._flushes: deque[threading.Event] = deque()
        self._open = OpenSpans()
        self._thread: threading.Thread | None = None
        self._pid = os.getpid()
        self._stopping = False
        self._until = float("inf")
        self._next_look = self._next_export = 0.0

    def after_fork(self) -> None:
        """Start anew in a forked child: the parent's spans, thread and exporter stay the parent's."""
        stopped = self._stopping
        self._begin()
        self._stopping, self._exporter = stopped, None

    def put(self, item: QueuedSpan) -> None:
        """Hand a span on; never waits. A full queue takes no announcement, and loses its oldest for a finished span."""
        if self._stopping:
            self._count_dropped(ended=item.ended)
            return
        if self._thread is None:
            self._start_thread()
        waiting = len(self._queue)
        if waiting >= self._limit:
            if not item.ended:
                self._count_dropped(ended=False)
                return
            self._make_room()
        self._queue.append(item)
        if (item.urgent and self._waiting) or waiting == self._limit // 2:
            self._waiting = False
            self._bell.put(None)

    @property
    def closed(self) -> bool:
        """Whether it was stopped."""
        return self._stopping

    def flush(self, timeout: float) -> bool:
        """Wait, at most `timeout` seconds, until what was put before is sent; whether it was."""
        if self._stopping or self._thread is None or not self._thread.is_alive():
            return not self._queue
        done = threading.Event()
        self._flushes.append(done)
        self._bell.put(None)
        return done.wait(timeout)

    def stop(self, timeout: float) -> bool:
        """Send what is left within `timeout` seconds, count the rest as dropped, and end; whether all was sent."""
        if self._stopping:
            return True
        self._until = time.monotonic() + timeout
        self._stopping = True
        self._bell.put(None)
        if self._thread is not None:
            self._thread.join(timeout)
        if self._exporter is not None:
            self._exporter.shutdown()
        left = sum(item.ended for item in iter(self._take, None))
        self.counts.dropped += left
        return not left and not (self._thread and self._thread.is_alive())

    def _start_thread(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="tracejury-sdk", daemon=True)
                self._thread.start()
                flush_at_end_of_child(self.flush)

    def _make_room(self) -> None:
        if oldest := self._take():
            self._count_dropped(ended=oldest.ended)

    def _count_dropped(self, *, ended: bool) -> None:
        with self._lock:
            if ended:
                self.counts.dropped += 1
            else:
                self.counts.unannounced += 1

    def _take(self) -> QueuedSpan | None:
        try:
            return self._queue.popleft()
        except IndexError:
            return None

    # The thread's own, from here on.

    def _run(self) -> None:
        # Or an instrumented HTTP client would trace our exports.
        attach(set_value(_SUPPRESS_INSTRUMENTATION_KEY, value=True))
        last = False
        while not last:
            last = self._stopping
            flushes = len(self._flushes)
            try:
                self._send(self._gather())
            except Exception as error:  # noqa: BLE001 - the thread must live on, whatever a span or an exporter does
                log_once("sending spans failed", error)
            for _ in range(flushes):
                self._flushes.popleft().set()

    def _gather(self) -> list[QueuedSpan]:
        """The spans that have come until something is due: an urgent span, a flush, the end, or the interval."""
        items: list[QueuedSpan] = []
        due = time.monotonic() + self._interval
        is_urgent, self._waiting = False, True
        while True:
            taken = [item for _ in range(len(self._queue)) if (item := self._take())]
            items += taken
            if not is_urgent and any(item.urgent for item in taken):
                is_urgent, self._waiting, due = True, False, min(due, self._next_export)
            left = due - time.monotonic()
            if self._stopping or self._flushes or left <= 0 or len(items) >= 2 * self._limit:
                break
            with suppress(queue.Empty):
                self._bell.get(timeout=left)
        self._waiting = False
        return items

    def _send(self, items: Sequence[QueuedSpan]) -> None:
        begun: list[OpenSpan] = []
        ended: list[ReadableSpan] = []
        for item in items:
            if item.ended:
                self._open.end(item.span)
                ended.append(finished(item.span, item.identity))
            elif item.span.end_time is None:  # else its end is next: announcing what is over says nothing
                begun.append(self._open.begin(item.span, item.identity))
        pending = still_open(begun)
        now = time.monotonic()
        if now >= self._next_look or self._stopping:
            self._next_look = now + self._interval
            pending += self._open.changed()
        wall = time.time_ns()
        self._export([announcement(one.span, one.identity, wall) for one in pending], ended)
        self._next_export = time.monotonic() + self._pace

    def _export(self, announced: Sequence[ReadableSpan], ended: Sequence[ReadableSpan]) -> None:
        counts = self.counts
        for start in range(0, len(ended), BATCH):
            batch = ended[start : start + BATCH]
            if time.monotonic() >= self._until:
                counts.dropped += len(ended) - start
                break
            if self._hand_over(batch):
                counts.exported += len(batch)
        for start in range(0, len(announced), BATCH):
            batch = announced[start : start + BATCH]
            if time.monotonic() >= self._until:
                counts.unannounced += len(announced) - start
                break
            if self._hand_over(batch):
                counts.announced += len(batch)

    def _hand_over(self, batch: Sequence[ReadableSpan]) -> bool:
        try:
            if self._exporter is None:
                self._exporter = self._make()
            taken = self._exporter.export(batch) is SpanExportResult.SUCCESS
        except Exception as error:  # noqa: BLE001 - an exporter may raise anything; the next batch may pass
            log_once("exporting spans failed", error)
            taken = False
        if not taken:
            self.counts.failed += len(batch)
        return taken
