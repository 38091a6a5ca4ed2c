"""LLM judges at work: threads that take runs from the queue, and the event loop in which the model is called."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any, Final

from tracejury.collector.judging.pipeline import Judge, NotYetError
from tracejury.collector.worker.listeners import Listeners
from tracejury.collector.worker.loop_runner import LoopRunner
from tracejury.collector.worker.outage_log import OutageLog
from tracejury.collector.worker.worker import Task, Work, Worker
from tracejury.judges.llm.case import Stage
from tracejury.processors.assemble import SECOND
from tracejury.schemas.errors import OverBudgetError, RetryableError, TracejuryError
from tracejury.schemas.verdicts import JudgedSubject, Outcome

from .batch_writer import BatchWriter
from .catch_up import CatchUp
from .enqueue import resume
from .judge_health import JudgeHealth
from .judge_queue import JudgeQueue, JudgeTask
from .outcome import Versions, renewed, unjudged
from .stored import StoredCases
from .watch import LlmJudgingObserver
from .windows import Windows

log = logging.getLogger(__name__)

TICK_SECONDS: Final = 1.0
MAX_TRIES: Final = 100
BACK_OFF_SECONDS: Final = 15.0
LONGEST_SECONDS: Final = 900.0
"""Between two tries of a run while the model cannot be reached: so it is tried for a day."""
WAIT_SECONDS: Final = 2.0
"""Between two looks of a subject at whether those that it follows from are judged."""
RESUME_ROWS: Final = 5000
RESUME_BELOW: Final = 200
"""Number of waiting runs below which pending runs are read back after an overflow."""

OpenJudge = Callable[[LoopRunner], AbstractAsyncContextManager[Judge[JudgeTask, JudgedSubject]]]


class JudgeWorker(Work[JudgeTask, Iterable[JudgedSubject]]):
    """Has runs judged, `concurrency` at a time.

    `open_judge` is entered in the event loop of a thread of its own: what is slow to import belongs there. `clock`
    gives unix nanos; `tick` is called with it once a second.
    """

    def __init__(
        self,
        store: StoredCases,
        queue: JudgeQueue,
        windows: Windows | None,
        open_judge: OpenJudge,
        versions: Versions,
        observer: LlmJudgingObserver,
        *,
        concurrency: int = 8,
        listeners: Listeners | None = None,
        clock: Callable[[], int] = time.time_ns,
        tick: Callable[[int], None] | None = None,
        catch_up: CatchUp | None = None,
    ) -> None:
        self.trouble = ""  # why the judges cannot work, one line
        self.health = JudgeHealth()
        self._store, self._queue, self._open_judge, self._versions = store, queue, open_judge, versions
        self._observer, self._clock, self._listeners = observer, clock, listeners or Listeners()
        # Twice what can be held while more is read back: among the oldest there is always something new.
        self._most_rows = max(RESUME_ROWS, 2 * (concurrency + RESUME_BELOW) * len(versions))
        self._resuming, self._starting = threading.Lock(), threading.Lock()
        self._writer = BatchWriter(store.save, self._publish, clock)
        outage = OutageLog("LLM judging", "waits for the store", "goes on", clock)
        self.worker = Worker("llm-judges", self, outage, wake=queue.wake_event, threads=concurrency, clock=clock)
        self.workers: list[Worker[Any, Any]] = [self._writer.worker, self.worker]
        if windows is not None:
            closing = Task(lambda: windows.tick(clock()))
            outage = OutageLog("closing windows of live runs", "fails", "works again", clock)
            self.workers.append(Worker("llm-judges-windows", closing, outage, every=TICK_SECONDS, clock=clock))
        if tick is not None:
            look = Task(lambda: tick(clock()))
            outage = OutageLog("closing sessions", "waits for the store", "goes on", clock)
            self.workers.append(Worker("llm-judges-sessions", look, outage, every=TICK_SECONDS, clock=clock))
        if catch_up is not None:
            caught = Task(lambda: catch_up.tick(clock()))
            outage = OutageLog("catching up over-budget runs", "waits for the store", "goes on", clock)
            self.workers.append(Worker("llm-judges-catch-up", caught, outage, every=TICK_SECONDS, clock=clock))
        self._judge: Judge[JudgeTask, JudgedSubject] | None = None
        self._runner: LoopRunner | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._main: asyncio.Task[None] | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the threads; runs that an earlier process left pending come first."""
        self._queue.overflowed = True
        self._thread = threading.Thread(target=self._run, name="llm-judges-loop", daemon=True)
        self._thread.start()

    def stop(self, deadline: float) -> None:
        """Give up what is in flight, within `deadline` seconds: it stays pending. Idempotent, safe without start."""
        until = time.monotonic() + deadline
        with self._starting:
            for worker in self.workers:
                worker.stopping.set()
        self._writer.stop(deadline)
        while self._runner is not None and self.worker.is_alive and time.monotonic() < until:
            self._runner.cancel()  # again and again: a call may have begun just now
            self.worker.stop(0.05)
        loop, main = self._loop, self._main
        if loop is not None and main is not None and not loop.is_closed():
            loop.call_soon_threadsafe(main.cancel)
        if self._thread is not None:
            self._thread.join(max(until - time.monotonic(), 0.0))

    @property
    def idle(self) -> bool:
        """Whether nothing waits and nothing is in flight, as far as this moment tells."""
        queue = self._queue
        return not (queue.overflowed or self._resuming.locked() or len(queue) or queue.in_flight)

    @property
    def is_alive(self) -> bool:
        """Whether a thread runs."""
        return any(worker.is_alive for worker in self.workers) or (self._thread is not None and self._thread.is_alive())

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
        if self.worker.stopping.is_set():  # `stop` found no loop yet, and cancels nothing
            return
        runner = LoopRunner()
        async with self._open_judge(runner) as self._judge:
            self._runner = runner
            with self._starting:
                if not self.worker.stopping.is_set():
                    for worker in self.workers:
                        worker.start()
            await asyncio.Event().wait()  # until it is cancelled

    def due(self, now: int) -> Sequence[JudgeTask]:
        """The next run; after an overflow, pending runs are read back first."""
        queue = self._queue
        if queue.overflowed and len(queue) < RESUME_BELOW and self._resuming.acquire(blocking=False):
            try:
                self._resume()
            finally:
                self._resuming.release()
        task = queue.take(now)
        return () if task is None else (task,)

    def next_due(self) -> int | None:
        """Look now and then for runs that were put back: their time comes by the clock."""
        return None if self._queue.next_due() is None else self._clock() + round(TICK_SECONDS * SECOND)

    def process(self, batch: Sequence[JudgeTask]) -> Iterator[JudgedSubject]:
        """The judgements of a run, subject by subject; each is saved before the next request."""
        return (subject for task in batch for subject in self._subjects(task))

    def save(self, result: Iterable[JudgedSubject]) -> None:
        """Save each together with those of other threads."""
        for subject in result:
            self._writer.put(subject)

    def done(self, batch: Sequence[JudgeTask]) -> None:
        """Allow the next revision of these runs to be judged."""
        for task in batch:
            self._queue.done(task)

    def put_back(self, batch: Sequence[JudgeTask], not_before: int) -> None:
        """Have these runs judged again."""
        for task in batch:
            self._queue.put_again(replace(task, not_before=not_before))
            self._queue.done(task)

    def _resume(self) -> None:
        self._queue.overflowed = False
        try:
            rows = self._store.pending(self._most_rows)
            self._writer.put(*renewed(rows, self._versions, self._clock()))
        except Exception:
            self._queue.overflowed = True
            raise
        # As many as were asked for: there may be more behind them, once some of these are done.
        if resume(self._queue, rows, self._versions) and len(rows) >= self._most_rows:
            self._queue.overflowed = True

    def _subjects(self, task: JudgeTask) -> Iterator[JudgedSubject]:
        left = {one.subject_id: one for one in task.each}
        try:
            yield from self._answers(task, left)
        except NotYetError:
            self._put_again(_rest(left), WAIT_SECONDS)
        except OverBudgetError as error:
            self.health.over_budget(error)
            yield from self._give_up(_rest(left), Outcome.OVER_BUDGET, str(error))
        except RetryableError as error:
            if not self.worker.stopping.is_set():
                yield from self._try_later(_rest(left), error)
        except Exception as error:  # one run that cannot be judged must not stop the others
            log.exception("%s %s of trace %r cannot be judged", task.kind, task.subject_id, task.key[1])
            yield from self._give_up(_rest(left), Outcome.FAILED, f"{type(error).__name__}: {error}"[:200])

    def _answers(self, task: JudgeTask, left: dict[str, JudgeTask]) -> Iterator[JudgedSubject]:
        """What the judges say of the task; those of `left`, by subject, of which there is a result are removed."""
        assert self._judge is not None  # noqa: S101  the threads start after it
        for subject in self._judge.ask(task):
            one = _about(task, subject)
            replaced = self._queue.replaced(one)  # the ledger says so already, and later than this
            if not replaced and self._store.stays(subject):
                self.health.note(subject.judgements, self._clock())
                yield subject  # it is stored when this goes on
            if not self._store.stays(subject):
                for each in left.values():
                    self._store.empty_answers(each.kind, each.subject_id, each.key)
                self._put_again(_rest(left), WAIT_SECONDS)
                return
            if task.others:
                left.pop(one.subject_id, None)
            elif replaced:
                return

    def _try_later(self, task: JudgeTask, error: RetryableError) -> Iterator[JudgedSubject]:
        """Back off and try again; a window is dropped, since the closing pass covers it."""
        self.health.failed(str(error), self._clock())
        self._observer.put_back(type(error).__name__)
        if task.stage is not Stage.CLOSING:
            return
        if task.tries + 1 >= MAX_TRIES:
            yield from self._give_up(task, Outcome.FAILED, str(error))
            return
        wait = max(error.retry_after, min(BACK_OFF_SECONDS * 2**task.tries, LONGEST_SECONDS))
        self._put_again(replace(task, tries=task.tries + 1), wait)

    def _put_again(self, task: JudgeTask, wait: float) -> None:
        """Try a task once more after `wait` seconds."""
        self._queue.put_again(replace(task, not_before=self._clock() + round(wait * SECOND), trace=None))

    def _give_up(self, task: JudgeTask, outcome: Outcome, reason: str) -> Iterator[JudgedSubject]:
        """Record why a closing pass did not happen; a window leaves no entry, since a closing pass is to come."""
        for one in task.each:
            if one.stage is Stage.CLOSING and not self._queue.replaced(one):
                yield unjudged(one, outcome, reason, self._versions, one.judged_at(self._clock()))

    def _publish(self, subjects: Sequence[JudgedSubject]) -> None:
        self._observer.saved(subjects, self._clock())
        self._listeners.subjects_judged(subjects)


def _about(task: JudgeTask, subject: JudgedSubject) -> JudgeTask:
    """The task that a result is of."""
    ids = {row.subject.id for row in subject.judgements}
    return next((one for one in task.others if one.subject_id in ids), replace(task, others=()))


def _rest(left: Mapping[str, JudgeTask]) -> JudgeTask:
    """The tasks of which there is no result yet, as one."""
    first, *others = left.values()
    return replace(first, others=tuple(others))
