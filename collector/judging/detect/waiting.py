"""Requests that wait for traces to be judged; each is answered in any case."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from tracejury.processors.assemble import TraceKey
from tracejury.schemas.errors import RetryableError
from tracejury.schemas.verdicts import JudgedTrace, Judgement


@dataclass(slots=True)
class WaitingRequest:
    """Requested traces that are not judged yet, and the judgements of the others."""

    wanted: set[TraceKey]
    judgements: list[Judgement] = field(default_factory=list)
    future: Future[list[Judgement]] = field(default_factory=Future)


class WaitingRequests:
    """Requests until they are answered. All methods from any thread."""

    def __init__(self) -> None:
        self._requests: list[WaitingRequest] = []
        self._lock = threading.Lock()
        self._closed = False

    def __len__(self) -> int:
        return len(self._requests)

    def add(self, keys: Sequence[TraceKey]) -> Future[list[Judgement]]:
        """Wait for these traces; after `dismiss` the future fails at once."""
        request = WaitingRequest(set(keys))
        with self._lock:
            if self._closed:
                request.future.set_exception(RetryableError("the collector is stopping"))
            elif keys:
                self._requests.append(request)
            else:
                request.future.set_result([])
        return request.future

    def answer(self, done: Sequence[TraceKey], judged: Sequence[JudgedTrace]) -> None:
        """These traces are `done`, with what came of those that exist."""
        with self._lock:
            for request in self._requests:
                found = [j.judgement for j in judged if (j.trace.tenant, j.trace.trace_id) in request.wanted]
                request.judgements += found
                request.wanted.difference_update(done)
                if not request.wanted:
                    request.future.set_result(request.judgements)
            self._requests = [r for r in self._requests if r.wanted]

    def dismiss(self) -> None:
        """Tell all who wait, now and later, to try again: the collector is stopping. Idempotent."""
        with self._lock:
            self._closed = True
            requests, self._requests = self._requests, []
        for request in requests:
            request.future.set_exception(RetryableError("the collector is stopping"))
