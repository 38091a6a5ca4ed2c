"""A backfill: traces of a source are sent over OTLP, whole and in order of time, as fast as they are taken."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from tracejury.collector.otlp.client.batches import MAX_ITEMS, batches
from tracejury.collector.otlp.client.connect import check_listening, connect
from tracejury.collector.otlp.client.export_request import ExportRequest, encoded
from tracejury.collector.otlp.client.replay import ReplayResult, send_all
from tracejury.collector.otlp.codec.groups import Row, group
from tracejury.collector.otlp.codec.signals import LOGS, SPANS, SignalSchema
from tracejury.collector.worker.retry import RetryPolicy
from tracejury.schemas.config_base import MIB

from .items import MAX_NAMED, BadRows
from .progress_file import BackfillProgress, ProgressFile
from .window import Listed, TimeSlice, Window

BATCH_BYTES: Final = 16 * MIB
"""About what is read at a time; the next such batch is read while one is sent."""
FIRST_SPANS, MOST_SPANS, MOST_TRACES = 100, 20_000, 2_000
"""Spans of the first batch, before it is known how large they are; spans and traces of a batch at most."""
LOOK_SECONDS: Final = 0.5
PATIENT: Final = RetryPolicy(first=0.5, longest=30.0, longest_asked=300.0, tries=40)
"""A collector that is away is waited for, ten minutes at least."""


@dataclass(frozen=True, slots=True)
class BackfillEndpoint:
    """Where to send: as `connect` has it, with the key of a project, "" for none."""

    address: str
    protocol: str
    key: str = field(default="", repr=False)


@dataclass(slots=True)
class BackfillResult:
    """Counts, updated while it runs. `done`, `planned`: spans that match, by which the time left is reckoned.

    `progress`: what is acknowledged, those of earlier runs included. `sent`: spans and log records of this run.
    `bad`: what cannot be sent; `messages`: why the collector refused items.
    """

    progress: BackfillProgress
    planned: int = 0
    done: int = 0
    sent: int = 0
    retried: int = 0
    seconds: float = 0.0
    bad: BadRows = field(default_factory=BadRows)
    messages: list[str] = field(default_factory=list)


Notify = Callable[[BackfillResult], None]


@dataclass(frozen=True, slots=True)
class _Batch:
    """Some traces: their requests, and what is done once all are acknowledged."""

    requests: tuple[ExportRequest, ...]
    last: Listed
    traces: int
    spans: int
    logs: int
    done: int
    bad: int


def backfill(
    window: Window,
    slices: Sequence[TimeSlice],
    file: ProgressFile,
    begun: BackfillProgress,
    endpoint: BackfillEndpoint,
    *,
    rate: int = 0,
    behind: Callable[[], bool] = lambda: False,
    notify: Notify = lambda _: None,
) -> BackfillResult:
    """Send the traces of a window that are beyond `begun`; runs its own event loop.

    `rate`: spans and log records a second at most; 0: as fast as they are taken. Nothing is sent while `behind`, asked
    every `LOOK_SECONDS`. After each batch that is acknowledged as a whole the file is written.

    Raises:
        EndpointError: the collector takes nothing at this address, or with this key.
        RetryableError: source or collector stayed away. What was saved holds: the same again goes on from there.
    """
    result = BackfillResult(begun, sum(one.spans for one in slices), bad=window.bad())
    return asyncio.run(
        _send(_Reader(window, slices, result, rate), file, result, endpoint, _Pace(rate, behind), notify)
    )


async def _send(
    reader: _Reader,
    file: ProgressFile,
    result: BackfillResult,
    endpoint: BackfillEndpoint,
    pace: _Pace,
    notify: Notify,
) -> BackfillResult:
    began = time.monotonic()
    headers = {"authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
    client = connect(endpoint.address, endpoint.protocol, headers)
    drawn = reader.batches()
    try:
        await check_listening(endpoint.address, endpoint.protocol)
        coming = asyncio.create_task(asyncio.to_thread(next, drawn, None))
        while (batch := await coming) is not None:
            coming = asyncio.create_task(asyncio.to_thread(next, drawn, None))
            try:
                counts = await send_all(pace.paced(batch.requests), client, retry=PATIENT, strict=True)
            except BaseException:
                pace.stopping.set()
                await asyncio.gather(
                    coming, return_exceptions=True
                )  # a thread cannot be stopped, and the source is closed next
                raise
            _add(result, batch, counts)
            file.save(result.progress)
            result.seconds = time.monotonic() - began
            notify(result)
    finally:
        await client.close()
    result.progress = replace(result.progress, finished=True)
    file.save(result.progress)
    return result


def _add(result: BackfillResult, batch: _Batch, counts: ReplayResult) -> None:
    before = result.progress
    result.progress = replace(
        before,
        start=batch.last.start,
        trace_id=batch.last.trace_id,
        traces=before.traces + batch.traces,
        spans=before.spans + batch.spans,
        logs=before.logs + batch.logs,
        rejected=before.rejected + counts.rejected,
        bad=before.bad + batch.bad,
    )
    result.done, result.sent = batch.done, result.sent + batch.spans + batch.logs
    result.retried += counts.retried
    result.messages += [m for m in counts.messages if m not in result.messages][: MAX_NAMED - len(result.messages)]


class _Reader:
    """Reads a window's traces in batches of a size that memory can hold."""

    def __init__(self, window: Window, slices: Sequence[TimeSlice], result: BackfillResult, rate: int) -> None:
        self._window, self._slices, self._result = window, slices, result
        self._most = min(rate or MAX_ITEMS, MAX_ITEMS)  # no request is held back for longer than a second
        self._spans = FIRST_SPANS

    def batches(self) -> Iterator[_Batch]:
        """The batches beyond what is done, in order of time."""
        begun = self._result.progress
        after = Listed(begun.start, begun.trace_id) if begun.trace_id else None
        done = 0
        for one in self._slices:
            if after is None or one.until > after.start:
                traces, at = self._window.traces(one, after), 0
                while at < len(traces):
                    end = self._end(traces, at)
                    yield self._read(traces[at:end], done + one.spans * end // len(traces))
                    at = end
            done += one.spans

    def _end(self, traces: Sequence[Listed], at: int) -> int:
        """Where a batch ends that begins there: it has one trace at least."""
        end, spans = at, 0
        while end < len(traces) and end - at < MOST_TRACES and (end == at or spans + traces[end].spans <= self._spans):
            spans += traces[end].spans
            end += 1
        return end

    def _read(self, traces: Sequence[Listed], done: int) -> _Batch:
        bad = self._result.bad
        before = bad.count
        parts: list[ExportRequest] = []
        spans = logs = size = 0
        for of_logs, of_spans in _grouped(self._window.read(traces, bad)):
            # A trace's content comes before its end.
            for part in (*_requests(LOGS, of_logs, self._most), *_requests(SPANS, of_spans, self._most)):
                parts.append(part)
                size += len(part.body)
            spans, logs = spans + len(of_spans), logs + len(of_logs)
        if spans:
            self._spans = max(1, min(MOST_SPANS, BATCH_BYTES * spans // size))
        return _Batch(tuple(parts), traces[-1], len(traces), spans, logs, done, bad.count - before)


def _grouped(traces: Iterable[tuple[list[Row], list[Row]]]) -> Iterator[tuple[list[Row], list[Row]]]:
    """Whole traces put together until they fill a request."""
    logs, spans = list[Row](), list[Row]()
    for of_logs, of_spans in traces:
        if spans and len(spans) + len(of_spans) > MAX_ITEMS:
            yield logs, spans
            logs, spans = [], []
        logs += of_logs
        spans += of_spans
    yield logs, spans


def _requests(schema: SignalSchema, rows: Sequence[Row], most: int) -> Iterator[ExportRequest]:
    if rows:
        yield from map(encoded, batches(group(schema, rows), most))


class _Pace:
    """Holds requests back: no more than `rate` items a second leave (0: all that come), and none while judging lags."""

    def __init__(self, rate: int, behind: Callable[[], bool]) -> None:
        self._rate, self._behind = rate, behind
        self._next = self._look = 0.0
        self.stopping = threading.Event()

    def paced(self, requests: Iterable[ExportRequest]) -> Iterator[ExportRequest]:
        """The requests, each when it may leave; waits in the thread that draws them."""
        for request in requests:
            if time.monotonic() >= self._look:
                while self._behind() and not self.stopping.wait(LOOK_SECONDS):
                    pass
                self._look = time.monotonic() + LOOK_SECONDS
            now = time.monotonic()
            if self._rate:
                self.stopping.wait(max(self._next - now, 0))
                self._next = max(self._next, now) + request.items / self._rate
            yield request
