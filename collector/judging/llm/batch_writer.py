"""What the judges said goes to the store in groups: one insert for all that waits."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from ....schemas.errors import RetryableError, TracejuryError
from ....schemas.verdicts import JudgedSubject

log = logging.getLogger(__name__)

GROUP: Final = 200
"""Subjects in one insert."""

LINGER_SECONDS: Final = 0.1
"""How long the first of a group waits for others: an insert costs as much for one as for a hundred."""

WAITING: Final = 1000
"""Subjects that wait for the store; beyond it the judges wait, too."""


class SubjectStore(Protocol):
    """Takes what was judged; blocks."""

    def save(self, subjects: Sequence[JudgedSubject]) -> None:
        """Store them, their judgements last. RetryableError: a passing failure."""


class BatchWriter:
    """Saves in the order in which subjects came. `run` is its one task; `saved` is told of each group stored."""

    def __init__(self, store: SubjectStore, saved: Callable[[Sequence[JudgedSubject]], None]) -> None:
        self.lost = 0  # subjects that the store can never take
        self._store, self._saved = store, saved
        self._queue: asyncio.Queue[tuple[JudgedSubject, asyncio.Future[None]]] = asyncio.Queue(WAITING)

    async def put(self, subject: JudgedSubject) -> None:
        """Store the subject; returns when it is stored, or can never be."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        await self._queue.put((subject, done))
        await done

    async def run(self) -> None:
        """Save what comes, until cancelled."""
        while True:
            group = [await self._queue.get()]
            await asyncio.sleep(LINGER_SECONDS)
            while len(group) < GROUP and not self._queue.empty():
                group.append(self._queue.get_nowait())
            subjects = [subject for subject, _ in group]
            await self._save(subjects)
            for _, done in group:
                if not done.done():
                    done.set_result(None)

    async def _save(self, subjects: Sequence[JudgedSubject]) -> None:
        while True:
            try:
                await asyncio.to_thread(self._store.save, subjects)
            except RetryableError as error:
                log.warning("what LLM judges said waits for the store: %s", error)
                await asyncio.sleep(error.retry_after)
            except TracejuryError as error:
                await self._save_each(subjects, error)
                return
            else:
                self._saved(subjects)
                return

    async def _save_each(self, subjects: Sequence[JudgedSubject], error: TracejuryError) -> None:
        if len(subjects) > 1:
            for subject in subjects:
                await self._save([subject])
            return
        self.lost += 1
        log.error("what LLM judges said of %s cannot be stored: %s", _names(subjects), error)


def _names(subjects: Sequence[JudgedSubject]) -> str:
    return ", ".join(sorted({j.subject.trace_id for s in subjects for j in s.judgements})) or "nothing"
