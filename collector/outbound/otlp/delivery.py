"""Delivery of one request: retried while it may succeed, split in halves where it is refused."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable, Collection
from typing import Final

from tracejury.collector.otlp.client.client import EndpointError, OtlpClient
from tracejury.collector.otlp.client.export_request import ExportRequest, ExportSignal
from tracejury.collector.otlp.secrets import without
from tracejury.collector.worker.retry import RetryPolicy
from tracejury.schemas.errors import PermanentError, RetryableError

from .counts import ExportCounts

log = logging.getLogger(__name__)

QUICK_TRIES: Final = 3
MAX_SPLITS: Final = 64
"""Requests more that one refused request may cost: enough to find six culprits among a thousand spans."""
ASK_AGAIN: Final = 300.0
"""Seconds after which a backend that takes no log records, or annotations, is asked whether it does by now."""


class BackendUnavailableError(RetryableError):
    """The backend takes nothing just now; its traces wait in the store."""


class Delivery:
    """Requests to one backend, one at a time. `secrets` are taken out of what it answers before anyone sees it.

    `clock`: seconds, from any beginning.
    """

    def __init__(
        self,
        name: str,
        client: OtlpClient,
        counts: ExportCounts,
        retry: RetryPolicy,
        secrets: Collection[str] = (),
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name, self._client, self._counts, self._retry = name, client, counts, retry
        self._secrets, self._sleep, self._clock = secrets, sleep, clock
        self._closed: dict[ExportSignal, float] = {}
        self._told: set[str] = set()

    def closed(self) -> int:
        """Number of signals beside spans that the backend takes none of just now."""
        return len(self._closed)

    async def deliver(self, request: ExportRequest, tries: int = QUICK_TRIES) -> None:
        """Send all that the backend takes of it, and count what it never will.

        Raises:
            BackendUnavailableError: after `tries` it may still be taken later; sending all of it again is safe.
        """
        if self._clock() < self._closed.get(request.signal, -math.inf):
            self._counts.failed(request.signal, request.items)
            return
        pieces, splits = [request], 0
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

    async def _send(self, request: ExportRequest, tries: int) -> None:
        for tried in range(1, tries + 1):
            try:
                result = await self._client.send(request)
            except RetryableError as error:
                self._counts.retries += 1
                if tried == tries:
                    raise BackendUnavailableError(self._clean(str(error)), retry_after=error.retry_after) from None
                await self._sleep(self._retry.delay(tried, error.retry_after))
            except EndpointError as error:
                self._close(request, error)
                return
            else:
                self._open(request.signal)
                self._counts.requests += 1
                rejected = min(result.rejected, request.items)
                self._counts.sent(request.signal, request.items - rejected)
                if rejected or result.message:
                    self._refused(request.signal, rejected, result.message or "no reason given")
                return

    def _close(self, request: ExportRequest, error: EndpointError) -> None:
        """Let spans wait until the backend takes them; stop sending any other signal to it for a while."""
        why = self._clean(str(error))
        if request.signal is ExportSignal.TRACES:
            raise BackendUnavailableError(why, retry_after=self._retry.longest) from None
        if request.signal not in self._closed:
            text = "backend %s takes no %s, is sent none and asked again every %.0f s: %s"
            log.warning(text, self._name, _WORDS[request.signal], ASK_AGAIN, why)
        self._closed[request.signal] = self._clock() + ASK_AGAIN
        self._counts.failed(request.signal, request.items)

    def _open(self, signal: ExportSignal) -> None:
        if self._closed.pop(signal, None) is not None:
            log.info("backend %s takes %s by now", self._name, _WORDS[signal])

    def _refused(self, signal: ExportSignal, items: int, why: str) -> None:
        self._counts.failed(signal, items)
        text = self._clean(why)
        if signal.value not in self._told:  # one line a kind: the metrics tell how many
            self._told.add(signal.value)
            log.warning("backend %s refused %d %s: %s", self._name, items, _WORDS[signal], text)

    def _clean(self, text: str) -> str:
        return without(text, self._secrets)


_WORDS: Final = {ExportSignal.TRACES: "spans", ExportSignal.LOGS: "log records", ExportSignal.PHOENIX: "annotations"}
