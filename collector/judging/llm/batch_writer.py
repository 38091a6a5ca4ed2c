"""Group commit of LLM judgements: one insert for all that waits."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Final

from tracejury.collector.judging.pipeline import save_results
from tracejury.collector.worker.outage_log import OutageLog
from tracejury.collector.worker.worker import Work, Worker
from tracejury.schemas.errors import RetryableError, TracejuryError
from tracejury.schemas.verdicts import JudgedSubject

log = logging.getLogger(__name__)

GROUP: Final = 200
"""Subjects in one insert."""

LINGER_SECONDS: Final = 0.1
"""How long the first of a group waits for others: an insert costs as much for one as for a hundred."""

Waiting = tuple[JudgedSubject, "Future[None]"]


class BatchWriter(Work[Waiting, Sequence[Waiting]]):
    """Saves subjects in the order in which they came. `publish` is called with each stored group.

    Whoever puts a subject waits, so that at most as many wait as there are threads.
    """

    def __init__(
        self,
        save: Callable[[Sequence[JudgedSubject]], None],
        publish: Callable[[Sequence[JudgedSubject]], None],
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self.lost = 0  # subjects that the store can never take
        self._save, self._publish = save, publish
        self._waiting: list[Waiting] = []
        self._lock = threading.Lock()
        self._closed = False
        outage = OutageLog("what LLM judges said", "waits for the store", "is stored again", clock)
        self.worker = Worker("llm-judges-writer", self, outage, clock=clock)

    def put(self, *subjects: JudgedSubject) -> None:
        """Store subjects; returns when they are stored, or can never be. Raises RetryableError: it is stopping."""
        futures: list[Future[None]] = [Future() for _ in subjects]
        with self._lock:
            if self._closed:
                raise _stopping()
            self._waiting += zip(subjects, futures, strict=True)
        self.worker.wake_event.wake()
        for future in futures:
            future.result()

    def stop(self, deadline: float) -> None:
        """Finish the insert at hand; whoever waits for another one is told to try again. Idempotent."""
        with self._lock:
            self._closed = True
            waiting, self._waiting = self._waiting, []
        for _, future in waiting:
            future.set_exception(_stopping())
        self.worker.stop(deadline)

    def due(self, now: int) -> Sequence[Waiting]:  # noqa: ARG002  the base's signature
        """A group, once its first subject has waited for others."""
        if not self._waiting:
            return ()
        self.worker.stopping.wait(LINGER_SECONDS)
        with self._lock:
            group, self._waiting = self._waiting[:GROUP], self._waiting[GROUP:]
        return group

    def process(self, batch: Sequence[Waiting]) -> Sequence[Waiting]:
        """There is nothing to do before they are stored."""
        return batch

    def save(self, result: Sequence[Waiting]) -> None:
        """Store them in one insert."""
        save_results([subject for subject, _ in result], self._save, self._publish, self._lost)

    def done(self, batch: Sequence[Waiting]) -> None:
        """Let those go who wait for it."""
        for _, future in batch:
            future.set_result(None)

    def put_back(self, batch: Sequence[Waiting], not_before: int) -> None:  # noqa: ARG002  the base's signature
        """Store the same once more, before what came meanwhile."""
        with self._lock:
            if not self._closed:
                self._waiting = [*batch, *self._waiting]
                return
        for _, future in batch:
            future.set_exception(_stopping())

    def _lost(self, subject: JudgedSubject, error: TracejuryError) -> None:
        self.lost += 1
        traces = ", ".join(sorted({j.subject.trace_id for j in subject.judgements})) or "nothing"
        log.error("what LLM judges said of %s cannot be stored: %s", traces, error)


def _stopping() -> RetryableError:
    return RetryableError("the collector is stopping")
