"""One request until it is done with: tried again while it may succeed, in halves where it is refused."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable, Collection
from typing import Final

from ....schemas.errors import PermanentError, RetryableError
from ...otlp.client.export_requests import Parcel, Signal
from ...otlp.client.senders import BackendSender, ClosedError
from ...otlp.secrets import without
from ...worker.retry import RetryPolicy
from .metrics import Counts

log = logging.getLogger(__name__)

QUICK_TRIES: Final = 3
MAX_SPLITS: Final = 64
"""Requests more that one refused request may cost: enough to find six culprits among a thousand spans."""
ASK_AGAIN: Final = 300.0
"""Seconds after which a backend that takes no log records, or annotations, is asked whether it does by now."""


class AwayError(RetryableError):
    """The backend takes nothing just now; what was to go waits in the store."""


class Delivery:
    """Requests to one backend, one at a time. `secrets` are taken out of what it answers before anyone sees it.

    `clock`: seconds, from any beginning.
    """

    def __init__(
        self,
        name: str,
        sender: BackendSender,
        counts: Counts,
        retry: RetryPolicy,
        secrets: Collection[str] = (),
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name, self._sender, self._counts, self._retry = name, sender, counts, retry
        self._secrets, self._sleep, self._clock = secrets, sleep, clock
        self._closed: dict[Signal, float] = {}
        self._told: set[str] = set()

    def closed(self) -> int:
        """Kinds of data beside spans that the backend takes none of just now."""
        return len(self._closed)

    def wait(self, failures: int, asked: float) -> float:
        """Seconds to leave a backend alone that has failed so often in a row."""
        return self._retry.delay(failures, asked)

    async def deliver(self, parcel: Parcel, tries: int = QUICK_TRIES) -> None:
        """Send all that the backend takes of it, and count what it never will.

        Raises:
            AwayError: after `tries` it may still be taken later; sending all of it again is safe.
        """
        if self._clock() < self._closed.get(parcel.signal, -math.inf):
            self._counts.failed(parcel.signal, parcel.items)
            return
        pieces, splits = [parcel], 0
        while pieces:
            piece = pieces.pop()
            try:
                await self._send(piece, tries)
            except PermanentError as error:
                self._open(piece.signal)
                halves = piece.halves() if splits < MAX_SPLITS else (piece,)
                if len(halves) == 1:
                    self._refused(piece.signal, piece.items, str(error))
                else:
                    splits += 1
                    self._counts.split += 1
                    pieces += reversed(halves)

    async def _send(self, parcel: Parcel, tries: int) -> None:
        for tried in range(1, tries + 1):
            try:
                reply = await self._sender.send(parcel)
            except RetryableError as error:
                self._counts.retries += 1
                if tried == tries:
                    raise AwayError(self._clean(str(error)), retry_after=error.retry_after) from None
                await self._sleep(self._retry.delay(tried, error.retry_after))
            except ClosedError as error:
                self._close(parcel, error)
                return
            else:
                self._open(parcel.signal)
                self._counts.requests += 1
                rejected = min(reply.rejected, parcel.items)
                self._counts.sent(parcel.signal, parcel.items - rejected)
                if rejected or reply.message:
                    self._refused(parcel.signal, rejected, reply.message or "no reason given")
                return

    def _close(self, parcel: Parcel, error: ClosedError) -> None:
        """Spans wait for the door to be opened; a backend that takes nothing else is sent nothing else for a while."""
        why = self._clean(str(error))
        if parcel.signal is Signal.TRACES:
            raise AwayError(why, retry_after=self._retry.longest) from None
        if parcel.signal not in self._closed:
            text = "backend %s takes no %s, is sent none and asked again every %.0f s: %s"
            log.warning(text, self._name, _WORDS[parcel.signal], ASK_AGAIN, why)
        self._closed[parcel.signal] = self._clock() + ASK_AGAIN
        self._counts.failed(parcel.signal, parcel.items)

    def _open(self, signal: Signal) -> None:
        if self._closed.pop(signal, None) is not None:
            log.info("backend %s takes %s by now", self._name, _WORDS[signal])

    def _refused(self, signal: Signal, items: int, why: str) -> None:
        self._counts.failed(signal, items)
        text = self._clean(why)
        if signal.value not in self._told:  # one line a kind: the metrics tell how many
            self._told.add(signal.value)
            log.warning("backend %s refused %d %s: %s", self._name, items, _WORDS[signal], text)

    def _clean(self, text: str) -> str:
        return without(text, self._secrets)


_WORDS: Final = {Signal.TRACES: "spans", Signal.LOGS: "log records", Signal.PHOENIX: "annotations"}
