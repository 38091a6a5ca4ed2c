"""The worker's side of requests: what processes that do not judge ask for is carried out and answered."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from typing import Any, Final

from tracejury.collector.store.requests import RequestKind, StoredRequests, WorkerRequest
from tracejury.collector.worker.outage_log import OutageLog
from tracejury.collector.worker.worker import Task, Worker
from tracejury.processors.assemble import SECOND
from tracejury.schemas.errors import RetryableError, TracejuryError
from tracejury.schemas.queries.deletion import DeleteQuery
from tracejury.schemas.receipts import DeletionReceipt
from tracejury.schemas.verdicts import Judgement

log = logging.getLogger(__name__)

EVERY: Final = 1.0
"""Seconds between two looks."""
AT_ONCE: Final = 4
EXPIRE_EVERY: Final = 24 * 3600 * SECOND


class CarriedRequests:
    """Looks for requests every second; each is carried out on a thread, `AT_ONCE` at a time. `clock`: unix nanos.

    The functions take a project first. One that fails for a reason that may pass is left for another try.
    """

    def __init__(
        self,
        requests: StoredRequests,
        judge: Callable[[Sequence[str], bool, str], Sequence[Judgement]],
        delete: Callable[[DeleteQuery, str], DeletionReceipt],
        close_session: Callable[[str, str, str], bool],
        clock: Callable[[], int],
    ) -> None:
        self._requests, self._clock = requests, clock
        self._judge, self._delete, self._close_session = judge, delete, close_session
        self._pool = ThreadPoolExecutor(AT_ONCE, "requests")
        self._expire_at = 0
        outage = OutageLog("requests of other processes", "wait for the store", "are carried out again", clock)
        self._worker = Worker("requests", Task(self.look), outage, every=EVERY, clock=clock)

    def start(self) -> None:
        """Begin to look."""
        self._worker.start()

    def stop(self, deadline: float) -> None:
        """Begin no more; what is not answered is left to others."""
        self._worker.stop(deadline)
        self._pool.shutdown(wait=False, cancel_futures=True)

    def look(self) -> Sequence[Future[None]]:
        """Begin what waits, without waiting for it. Raises RetryableError, StoreError."""
        if (now := self._clock()) >= self._expire_at:
            self._requests.expire()
            self._expire_at = now + EXPIRE_EVERY
        requests = self._requests
        return [self._pool.submit(self._carry_out, one) for one in requests.waiting() if requests.begin(one)]

    def _carry_out(self, request: WorkerRequest) -> None:
        """Do what is asked for and store the answer; never raises."""
        try:
            self._requests.finish(request, self._answer(request))
        except Exception as error:  # noqa: BLE001  the next try, or another worker, may have more luck
            log.warning("a request (%s) of another process waits for another try: %s", request.kind, error)

    def _answer(self, request: WorkerRequest) -> Mapping[str, object]:
        """What came of it, or why it cannot be done. Raises RetryableError."""
        try:
            return {"done": self._done(request)}
        except RetryableError:
            raise
        except Exception as error:
            log.exception("a request (%s) of another process failed", request.kind)
            return {"error": str(error) if isinstance(error, TracejuryError) else "a worker's log tells more"}

    def _done(self, request: WorkerRequest) -> object:
        arguments: Mapping[str, Any] = request.arguments
        match request.kind:
            case RequestKind.JUDGE:
                judged = self._judge(arguments["trace_ids"], arguments["by_hand"], request.tenant)
                return [(one.subject.trace_id, one.failures) for one in judged]
            case RequestKind.DELETE:
                return asdict(self._delete(DeleteQuery(**arguments), request.tenant))
            case RequestKind.CLOSE:
                return self._close_session(arguments["service"], arguments["session_id"], request.tenant)
