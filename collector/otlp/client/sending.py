"""Sending: several requests in flight, each tried again while the receiver asks for it, all of it bounded."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol

from ....schemas.errors import PermanentError, RetryableError
from ...worker.retry import RetryPolicy
from ..codec.groups import LOGS, Request, count, signal_of

MAX_MESSAGES: Final = 5


@dataclass(frozen=True, slots=True)
class Reply:
    """What a receiver said of an accepted request: how many items it refused, and why."""

    rejected: int = 0
    message: str = ""


class Sender(Protocol):
    """One connection to a receiver."""

    async def send(self, request: Request) -> Reply:
        """Send one request.

        Raises:
            RetryableError: worth another try, after `retry_after` seconds where that is not 0.
            PermanentError: the receiver will never take this request.
        """

    async def close(self) -> None:
        """Close the connection; safe to call twice."""


DEFAULT_RETRY: Final = RetryPolicy(first=0.25, longest=10.0, longest_asked=60.0, tries=8)


@dataclass(slots=True)
class Replayed:
    """Counts of a replay, in the making while it runs. Items are spans and log records.

    `rejected` items were refused for good, singly or with their request; `messages` says why, a few of them.
    `broken`: a line for each file of a folder that could not be read and was passed over.
    """

    requests: int = 0
    spans: int = 0
    logs: int = 0
    rejected: int = 0
    retried: int = 0
    seconds: float = 0.0
    messages: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    @property
    def sent(self) -> int:
        """Items that the receiver took."""
        return self.spans + self.logs - self.rejected

    def note(self, items: int, message: str) -> None:
        """Count refused items, and keep the reason if it is new."""
        self.rejected += items
        if message and message not in self.messages and len(self.messages) < MAX_MESSAGES:
            self.messages.append(message)


Sleep = Callable[[float], Awaitable[None]]


async def send_all(
    requests: Iterable[Request],
    sender: Sender,
    *,
    retry: RetryPolicy = DEFAULT_RETRY,
    in_flight: int = 16,
    result: Replayed | None = None,
    sleep: Sleep = asyncio.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Replayed:
    """Send all requests, at most `in_flight` at once, started in order; `result` can be watched while it runs.

    The requests are drawn in a thread, so that reading and decoding files stops nobody.

    Raises:
        RetryableError: one request was tried as often as `retry` allows; the others are given up, too.
        TracejuryError: what `requests` raised while being drawn.
    """
    counts = result or Replayed()
    start = clock()
    iterator = iter(requests)
    drawing = asyncio.Lock()

    async def work() -> None:
        while (request := await _next(iterator, drawing)) is not None:
            await _deliver(request, sender, retry, counts, sleep)
            counts.seconds = clock() - start

    try:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(in_flight):
                tasks.create_task(work())
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from failed
    counts.seconds = clock() - start
    return counts


async def _next(iterator: Iterator[Request], drawing: asyncio.Lock) -> Request | None:
    async with drawing:
        return await asyncio.to_thread(next, iterator, None)


async def _deliver(request: Request, sender: Sender, retry: RetryPolicy, counts: Replayed, sleep: Sleep) -> None:
    items = count(request)
    for tried in range(1, retry.tries + 1):
        try:
            reply = await sender.send(request)
        except RetryableError as error:
            if tried == retry.tries:
                raise RetryableError(f"gave up after {tried} tries: {error}") from error
            counts.retried += 1
            await sleep(retry.delay(tried, error.retry_after))
        except PermanentError as error:
            reply = Reply(items, str(error))
            break
        else:
            break
    counts.requests += 1
    if signal_of(request) is LOGS:
        counts.logs += items
    else:
        counts.spans += items
    counts.note(reply.rejected, reply.message)
