"""The judges' thread: takes runs from the docket, has them judged, and stores what was said."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Final, Protocol

from ....judges.llm.case import Stage
from ....processors.assemble import SECOND
from ....schemas.errors import OverBudgetError, RetryableError, TracejuryError
from ....schemas.llm_rows import LedgerRow
from ....schemas.verdicts import JudgedSubject, Outcome
from ...worker.listeners import Listeners
from .batch_writer import BatchWriter, SubjectStore
from .enqueue import Calendar
from .judge_health import JudgeHealth
from .judge_queue import JudgeQueue, JudgeTask
from .outcome import Versions, renewed, unjudged
from .run_judge import RunJudge
from .watch import LlmJudgingObserver
from .windows import Windows

log = logging.getLogger(__name__)

TICK_SECONDS: Final = 1.0
MAX_TRIES: Final = 100
BACK_OFF_SECONDS: Final = 15.0
LONGEST_SECONDS: Final = 900.0
"""Between two tries of a run while the model cannot be reached: so it is tried for a day."""
RESUME_ROWS: Final = 5000
RESUME_BELOW: Final = 200
"""Waiting runs below which what a full docket left to the store is read back."""


class PendingStore(SubjectStore, Protocol):
    """What the bench itself reads and writes; all of it blocks."""

    def pending(self, limit: int) -> Sequence[LedgerRow]:
        """What was left pending, the oldest first."""


class JudgeWorker:
    """Runs before the judges, `concurrency` at a time, on an event loop of its own thread.

    `open_sitting` is entered in that thread: what is slow to import belongs there. `clock` gives unix nanos.
    """

    def __init__(
        self,
        store: PendingStore,
        docket: JudgeQueue,
        calendar: Calendar,
        windows: Windows | None,
        open_sitting: Callable[[], AbstractAsyncContextManager[RunJudge]],
        versions: Versions,
        watch: LlmJudgingObserver,
        *,
        concurrency: int = 8,
        listeners: Listeners | None = None,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self.trouble = ""  # why the judges cannot work, one line
        self.complaint = JudgeHealth()
        self._store, self._docket, self._calendar, self._windows = store, docket, calendar, windows
        self._open_sitting, self._versions, self._watch = open_sitting, versions, watch
        self._concurrency, self._clock = concurrency, clock
        # Twice what can be held while more is read back: among the oldest there is always something new.
        self._most_rows = max(RESUME_ROWS, 2 * (concurrency + RESUME_BELOW) * len(versions))
        self._resuming = False
        self._listeners = listeners or Listeners()
        self._saving = BatchWriter(store, self._saved)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._main: asyncio.Task[None] | None = None
        self._thread: threading.Thread | None = None

    def _saved(self, subjects: Sequence[JudgedSubject]) -> None:
        self._watch.saved(subjects, self._clock())
        self._listeners.heard(subjects)

    def start(self) -> None:
        """Start the thread; what an earlier process left pending comes first."""
        self._docket.overflowed = True
        self._thread = threading.Thread(target=self._run, name="panel", daemon=True)
        self._thread.start()

    def stop(self, deadline: float) -> None:
        """Give up what is in flight, within `deadline` seconds: it stays pending. Idempotent, safe without start."""
        loop, main = self._loop, self._main
        if loop is not None and main is not None and not loop.is_closed():
            loop.call_soon_threadsafe(main.cancel)
        if self._thread is not None:
            self._thread.join(deadline)

    @property
    def idle(self) -> bool:
        """Whether nothing waits and nothing is in flight, as far as this moment tells."""
        docket = self._docket
        return not (len(docket) or docket.in_flight or docket.overflowed or self._resuming)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except asyncio.CancelledError:
            return
        except TracejuryError as error:
            self.trouble = str(error)
            log.error("LLM judges cannot work: %s", error)  # noqa: TRY400  one line for what the user must mend
        except Exception:
            self.trouble = "an unexpected error stopped the LLM judges"
            log.exception("LLM judges stopped; detectors go on")

    async def _serve(self) -> None:
        self._loop, self._main = asyncio.get_running_loop(), asyncio.current_task()
        news = asyncio.Event()
        self._docket.wake = lambda: _tell(self._loop, news)
        async with self._open_sitting() as sitting, asyncio.TaskGroup() as group:
            group.create_task(self._saving.run())
            group.create_task(self._tick(news))
            free = asyncio.Semaphore(self._concurrency)
            while True:
                await free.acquire()
                entry = await self._next(news)
                task = group.create_task(self._hear(entry, sitting))
                task.add_done_callback(lambda _: free.release())

    async def _next(self, news: asyncio.Event) -> JudgeTask:
        while True:
            news.clear()
            if self._docket.overflowed and len(self._docket) < RESUME_BELOW:
                await self._resume()
            entry = self._docket.take(self._clock())
            if entry is not None:
                return entry
            await news.wait()

    async def _resume(self) -> None:
        self._resuming, self._docket.overflowed = True, False
        try:
            rows = await asyncio.to_thread(self._store.pending, self._most_rows)
        except TracejuryError as error:
            log.warning("LLM judges wait for the store: %s", error)
            self._docket.overflowed = True
            await asyncio.sleep(error.retry_after if isinstance(error, RetryableError) else BACK_OFF_SECONDS)
            return
        for subject in renewed(rows, self._versions, self._clock()):
            await self._saving.put(subject)
        # As many as were asked for: there may be more behind them, once some of these are done.
        self._docket.overflowed |= self._calendar.resume(rows) > 0 and len(rows) >= self._most_rows
        self._resuming = False

    async def _tick(self, news: asyncio.Event) -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            if self._windows is not None:
                self._windows.tick(self._clock())
            news.set()  # the time of what was put back may have come

    async def _hear(self, entry: JudgeTask, sitting: RunJudge) -> None:
        try:
            async for subject in sitting.hear(entry, self._docket):
                self.complaint.heard(subject.judgements, self._clock())
                await self._saving.put(subject)
        except OverBudgetError as error:
            await self._give_up(entry, Outcome.OVER_BUDGET, str(error))
        except RetryableError as error:
            self.complaint.failed(str(error), self._clock())
            await self._put_back(entry, error)
        except Exception as error:  # one run that cannot be judged must not stop the others
            log.exception("run %s of trace %s cannot be judged", entry.run_id, entry.key[1])
            await self._give_up(entry, Outcome.FAILED, f"{type(error).__name__}: {error}"[:200])
        finally:
            self._docket.done(entry)

    async def _put_back(self, entry: JudgeTask, error: RetryableError) -> None:
        """Try again later, ever later; a window is let go: the closing pass sees what it would have seen."""
        self._watch.put_back(type(error).__name__)
        if entry.stage is not Stage.CLOSING:
            return
        if entry.tries + 1 >= MAX_TRIES:
            await self._give_up(entry, Outcome.FAILED, str(error))
            return
        wait = max(error.retry_after, min(BACK_OFF_SECONDS * 2**entry.tries, LONGEST_SECONDS))
        later = replace(entry, tries=entry.tries + 1, not_before=self._clock() + round(wait * SECOND), trace=None)
        self._docket.put_again(later)

    async def _give_up(self, entry: JudgeTask, outcome: Outcome, reason: str) -> None:
        """A closing pass that was not held leaves a row of the ledger; a window none, since one is still to come."""
        if entry.stage is Stage.CLOSING and not self._docket.replaced(entry):
            await self._saving.put(unjudged(entry, outcome, reason, self._versions, entry.later(self._clock())))


def _tell(loop: asyncio.AbstractEventLoop | None, news: asyncio.Event) -> None:
    if loop is not None and not loop.is_closed():
        loop.call_soon_threadsafe(news.set)
