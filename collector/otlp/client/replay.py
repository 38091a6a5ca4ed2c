"""Replay: stored traces sent again in batches, several in flight, each retried while the receiver asks for it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tracejury.collector.otlp.codec.groups import Request
from tracejury.collector.otlp.codec.rejections import PartialSuccess
from tracejury.collector.otlp.codec.signals import Encoding
from tracejury.collector.otlp.files import BrokenFileError, find, read_file
from tracejury.collector.worker.retry import RetryPolicy
from tracejury.schemas.errors import PermanentError, RetryableError

from .batches import batches
from .client import EndpointError, OtlpClient
from .connect import check_listening, connect
from .export_request import ExportRequest, ExportSignal, encoded
from .fresh_ids import FreshIds

MAX_MESSAGES: Final = 5
DEFAULT_RETRY: Final = RetryPolicy(first=0.25, longest=10.0, longest_asked=60.0, tries=8)


@dataclass(slots=True)
class ReplayResult:
    """Counts of a replay, updated while it runs. Items are spans and log records.

    `rejected` items were refused for good, singly or with their request; `messages` gives some of the reasons.
    `broken`: a line for each unreadable file of a folder; such files are skipped. `warnings`: a line for each file
    of which only a part could be sent.
    """

    requests: int = 0
    spans: int = 0
    logs: int = 0
    rejected: int = 0
    retried: int = 0
    seconds: float = 0.0
    messages: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def sent(self) -> int:
        """Items that the receiver took."""
        return self.spans + self.logs - self.rejected

    def add(self, request: ExportRequest, result: PartialSuccess) -> None:
        """Count a request that was answered; a new message is added to the list."""
        self.requests += 1
        if request.signal is ExportSignal.LOGS:
            self.logs += request.items
        else:
            self.spans += request.items
        self.rejected += result.rejected
        if result.message and result.message not in self.messages and len(self.messages) < MAX_MESSAGES:
            self.messages.append(result.message)


Progress = Callable[[int, int, ReplayResult], None]
"""Called with files read, files in all, and the counts so far."""
Sleep = Callable[[float], Awaitable[None]]


def replay_files(
    paths: Sequence[Path],
    endpoint: str = "",
    protocol: str = "grpc",
    *,
    fresh_ids: bool = False,
    chat: bool = False,
    in_flight: int = 16,
    progress: Progress = lambda _done, _total, _counts: None,
) -> ReplayResult:
    """Send files and folders of stored traces; runs its own event loop.

    An unreadable file of a folder is skipped and listed in `ReplayResult.broken`. `chat`: all are conversations.

    Raises:
        BrokenFileError: a file that was named outright cannot be read; what was read before has been sent.
        ConfigError, RetryableError: see `replay`.
    """
    files = find(paths, chat=chat)
    counts = ReplayResult()
    fresh = FreshIds() if fresh_ids else None

    def requests() -> Iterator[Request]:
        for done, file in enumerate(files):
            progress(done, len(files), counts)
            try:
                for source in read_file(file):
                    counts.warnings += [source.warning] if source.warning else []
                    yield fresh.rewrite(source.request) if fresh else source.request
            except BrokenFileError as error:
                if file.named:
                    raise
                counts.broken.append(str(error))
        progress(len(files), len(files), counts)

    return asyncio.run(replay(requests(), endpoint, protocol, in_flight=in_flight, result=counts))


async def replay(
    requests: Iterable[Request],
    endpoint: str,
    protocol: str,
    *,
    in_flight: int = 16,
    retry: RetryPolicy = DEFAULT_RETRY,
    result: ReplayResult | None = None,
) -> ReplayResult:
    """Send requests to an endpoint in batches; see `send_all` for what it raises.

    Raises:
        ConfigError: see `connect`.
        RetryableError: nothing listens there.
    """
    client = connect(endpoint, protocol)
    encoding = Encoding.JSON if protocol == "json" else Encoding.PROTOBUF
    try:
        await check_listening(endpoint, protocol)
        parts = (encoded(part, encoding) for request in requests for part in batches(request))
        return await send_all(parts, client, retry=retry, in_flight=in_flight, result=result)
    finally:
        await client.close()


async def send_all(
    requests: Iterable[ExportRequest],
    client: OtlpClient,
    *,
    retry: RetryPolicy = DEFAULT_RETRY,
    in_flight: int = 16,
    result: ReplayResult | None = None,
    strict: bool = False,
    sleep: Sleep = asyncio.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> ReplayResult:
    """Send all requests, at most `in_flight` at once, started in order; `result` can be watched while it runs.

    The requests are drawn in a thread: reading and decoding files does not block the event loop.

    Raises:
        EndpointError: `strict`, and the endpoint takes nothing; else such requests count as refused.
        RetryableError: one request was tried as often as `retry` allows; the others are given up, too.
        TracejuryError: what `requests` raised while being drawn.
    """
    counts = result or ReplayResult()
    start = clock()
    iterator = iter(requests)
    drawing = asyncio.Lock()

    async def work() -> None:
        while (request := await _next(iterator, drawing)) is not None:
            counts.add(request, await _deliver(request, client, retry, counts, sleep, strict=strict))
            counts.seconds = clock() - start

    try:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(in_flight):
                tasks.create_task(work())
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from failed
    counts.seconds = clock() - start
    return counts


async def _next(iterator: Iterator[ExportRequest], drawing: asyncio.Lock) -> ExportRequest | None:
    async with drawing:
        return await asyncio.to_thread(next, iterator, None)


async def _deliver(
    request: ExportRequest, client: OtlpClient, retry: RetryPolicy, counts: ReplayResult, sleep: Sleep, *, strict: bool
) -> PartialSuccess:
    tried = 0
    while True:
        tried += 1
        try:
            return await client.send(request)
        except PermanentError as error:
            if strict and isinstance(error, EndpointError):
                raise EndpointError(f"nothing is taken there: {error}") from error
            return PartialSuccess(request.items, str(error))
        except RetryableError as error:
            if tried >= retry.tries:
                raise RetryableError(f"gave up after {tried} tries: {error}") from error
            counts.retried += 1
            await sleep(retry.delay(tried, error.retry_after))
