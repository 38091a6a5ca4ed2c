"""LLM judges at work: threads that take runs from the queue, and the event loop in which the model is called."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any, Final

from tracejury.collector.judging.pipeline import Judge, NotYetError
from tracejury.collector.worker.listeners import Listeners
from tracejury.collector.worker.loop_runner import LoopRunner
from tracejury.collector.worker.outage_log import OutageLog
from tracejury.collector.worker.worker import QueueWork, Task, Worker
from tracejury.judges.llm.case import Stage
from tracejury.processors.assemble import SECOND
from tracejury.schemas.errors import OverBudgetError, RetryableError, TracejuryError
from tracejury.schemas.verdicts import JudgedSubject, Outcome, SubjectKind

from .batch_writer import BatchWriter
from .catch_up import CatchUp
from .judge_health import JudgeHealth
from .judge_queue import JudgeItem, JudgeQueue, JudgeTask, SubjectKey
from .metrics import LlmJudgingMetrics
from .outcome import Versions, renewed, unjudged
from .pending_tasks import resume
from .stored import StoredCases
from .windows import Windows

log = logging.getLogger(__name__)

TICK_SECONDS: Final = 1.0
MAX_TRIES: Final = 100
BACK_OFF_SECONDS: Final = 15.0
LONGEST_SECONDS: Final = 900.0
"""Between two tries of a run while the model cannot be reached: so it is tried for a day."""
WAIT_SECONDS: Final = 2.0
"""Between two looks of a subject at whether those that it follows from are judged."""
MAX_REPEATS: Final = 3
"""How often a run is judged again because another process judged it, too: where no answers are kept, none may agree."""
CATCH_UP_SECONDS: Final = 15.0
LEFT_SECONDS: Final = 60.0
RESUME_ROWS: Final = 5000
RESUME_BELOW: Final = 200
"""Number of waiting runs below which pending runs are read back after an overflow."""

Judges = Mapping[SubjectKind, Judge[Sequence[JudgeTask], JudgedSubject]]
"""The judge of each kind of subject. Of one kind and trace several tasks may be put before it at once."""

OpenJudges = Callable[[LoopRunner], AbstractAsyncContextManager[Judges]]


class JudgeWorker(QueueWork[SubjectKey, JudgeTask, None]):
    """Has subjects judged, `concurrency` at a time.

    `open_judges` is entered in the event loop of a thread of its own: what is slow to import belongs there. `clock`
    gives unix nanos; `tick` is called with it once a second.
    """

    def __init__(
        self,
        store: StoredCases,
        queue: JudgeQueue,
        windows: Windows | None,
        open_judges: OpenJudges,
        versions: Versions,
        observer: LlmJudgingMetrics,
        *,
        concurrency: int = 8,
        listeners: Listeners | None = None,
        clock: Callable[[], int] = time.time_ns,
        tick: Callable[[int], None] | None = None,
        catch_up: CatchUp | None = None,
    ) -> None:
        self.trouble = ""  # why the judges cannot work, one line
        self.health = JudgeHealth(clock)
        super().__init__(queue)
        self._store, self._queue, self._open_judges, self._versions = store, queue, open_judges, versions
        self._observer, self._clock, self._listeners = observer, clock, listeners or Listeners()
        # Twice what can be held while more is read back: among the oldest there is always something new.
        self._most_rows = max(RESUME_ROWS, 2 * (concurrency + RESUME_BELOW) * len(versions))
        self._resuming, self._starting = threading.Lock(), threading.Lock()
        self._writer = BatchWriter(store.save, self._publish, clock)
        outage = OutageLog("LLM judging", "waits for the store", "goes on", clock)
        self.worker = Worker("llm-judges", self, outage, wake=queue.wake_event, threads=concurrency, clock=clock)
        self.workers: list[Worker[Any, Any]] = [self._writer.worker, self.worker]
        if windows is not None:
            self._repeat("windows", windows.tick, TICK_SECONDS, "closing windows of live runs")
        if tick is not None:
            self._repeat("sessions", tick, TICK_SECONDS, "closing sessions")
        if catch_up is not None:
            self._repeat("catch-up", catch_up.tick, CATCH_UP_SECONDS, "catching up over-budget runs")
        if store.is_shared:
            self._repeat("left", self._look_for_left, LEFT_SECONDS, "looking for what others left pending")
        self._judges: Judges = {}
        self._runner: LoopRunner | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._main: asyncio.Task[None] | None = None
        self._thread: threading.Thread | None = None

    def _repeat(self, name: str, tick: Callable[[int], None], every: float, what: str) -> None:
        outage = OutageLog(what, "waits for the store", "goes on", self._clock)
        task = Task(lambda: tick(self._clock()))
        self.workers.append(Worker(f"llm-judges-{name}", task, outage, every=every, clock=self._clock))

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
        return not (self._queue.overflowed or self._resuming.locked()) and self._queue.is_empty

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
        async with self._open_judges(runner) as self._judges:
            self._runner = runner
            with self._starting:
                if not self.worker.stopping.is_set():
                    for worker in self.workers:
                        worker.start()
            await asyncio.Event().wait()  # until it is cancelled

    def due(self, now: int) -> Sequence[JudgeItem]:
        """The next task with those of its group; after an overflow, pending runs are read back first."""
        queue = self._queue
        if queue.overflowed and len(queue) < RESUME_BELOW and self._resuming.acquire(blocking=False):
            try:
                self._resume()
            finally:
                self._resuming.release()
        return queue.take_next(now)

    def next_due(self) -> int | None:
        """When a run that was put back is due; at the latest in a second, as the clock may jump."""
        due = self._queue.next_due()
        return None if due is None else min(due, self._clock() + round(TICK_SECONDS * SECOND))

    def process(self, batch: Sequence[JudgeItem]) -> None:
        """Ask the judges. Each answer is stored, with those of other threads, before the next question.

        For what is asked next may follow from what is stored by then, and a trace that was read back may have hundreds
        of runs. Where the judges fail, tasks without an answer are tried later, or given up with the reason.
        """
        left = {item.value.subject_id: item for item in batch}
        kind, key = batch[0].value.kind, batch[0].value.key
        try:
            self._ask(batch, left)
        except CancelledError:
            raise
        except NotYetError:
            self._wait(left.values(), WAIT_SECONDS)
        except OverBudgetError as error:
            self.health.over_budget(error)
            self._give_up(left.values(), Outcome.OVER_BUDGET, str(error))
        except RetryableError as error:
            if left and not self.worker.stopping.is_set():
                self._try_later([*left.values()], error)
        except Exception as error:  # one run that cannot be judged must not stop the others
            log.exception("%s %s of trace %r cannot be judged", kind, ", ".join(left), key[1])
            self._give_up(left.values(), Outcome.FAILED, f"{type(error).__name__}: {error}"[:200])

    def save(self, result: None) -> None:
        """Nothing is left to store."""

    def _resume(self) -> None:
        self._queue.overflowed = False
        try:
            rows = self._store.pending(self._most_rows)
            self._writer.put(*renewed(rows, self._versions, self._clock()))
        except Exception:
            self._queue.overflowed = True
            raise
        # As many as were asked for: there may be more behind them, once some of these are done.
        if resume(self._queue, rows, self._versions, shuffled=self._store.is_shared) and len(rows) >= self._most_rows:
            self._queue.overflowed = True

    def _look_for_left(self, _now: int) -> None:
        """Read pending runs back: another process may have died with them."""
        self._queue.overflowed = True
        self._queue.wake_event.wake()

    def _ask(self, batch: Sequence[JudgeItem], left: dict[str, JudgeItem]) -> None:
        """Store what the judges say; of several tasks, those that have a result are removed from `left`."""
        stored: list[tuple[JudgeItem, JudgedSubject]] = []
        for subject in self._judges[batch[0].value.kind].ask([item.value for item in batch]):
            about = {row.subject.id for row in subject.judgements}
            item = next((item for item in batch if item.value.subject_id in about), batch[0])
            is_replaced = self._queue.is_replaced(item)  # the ledger says so already, and later than this
            if not is_replaced and self._store.stays(subject):
                self.health.note(subject.judgements)
                self._writer.put(subject)
                stored.append((item, subject))
            if not self._store.stays(subject):
                self._store.recent.forget([item.key[0]])
                for each in left.values():
                    self._store.empty_answers(each.value.kind, each.value.subject_id, each.value.key)
                self._wait(left.values(), WAIT_SECONDS)
                return
            if len(batch) > 1:
                left.pop(item.value.subject_id, None)
            elif is_replaced:
                return
        self._ask_again(stored)

    def _ask_again(self, stored: Sequence[tuple[JudgeItem, JudgedSubject]]) -> None:
        """Judge those runs once more that another process judged at the same time, whose findings stand beside ours.

        The answer that was kept last is every process's, and free: what it does not say is retracted.
        """
        others = self._store.found_by_others([subject for _, subject in stored]) if self._store.is_shared else ()
        for item, subject in stored:
            closing = item.value.stage is Stage.CLOSING
            if closing and item.tries < MAX_REPEATS and any(j.subject.id in others for j in subject.judgements):
                item.value = replace(item.value, bypass_cache=False, fresh=False)
                item.tries += 1
                self._wait([item], WAIT_SECONDS)

    def _try_later(self, items: Sequence[JudgeItem], error: RetryableError) -> None:
        """Back off and try again; a window is dropped, since the closing pass covers it."""
        self.health.failed(str(error))
        self._observer.put_back(type(error).__name__)
        if items[0].value.stage is not Stage.CLOSING:
            return
        tries = max(item.tries for item in items)
        if tries + 1 >= MAX_TRIES:
            self._give_up(items, Outcome.FAILED, str(error))
            return
        for item in items:
            item.tries = tries + 1
        self._wait(items, max(error.retry_after, min(BACK_OFF_SECONDS * 2**tries, LONGEST_SECONDS)))

    def _wait(self, items: Iterable[JudgeItem], seconds: float) -> None:
        """Try these again later."""
        self._queue.put_back(items, self._clock() + round(seconds * SECOND))

    def _give_up(self, items: Iterable[JudgeItem], outcome: Outcome, reason: str) -> None:
        """Record why a closing pass did not happen; a window leaves no entry, since a closing pass is to come."""
        tasks = [i.value for i in items if i.value.stage is Stage.CLOSING and not self._queue.is_replaced(i)]
        now = self._clock()
        self._writer.put(*(unjudged(task, outcome, reason, self._versions, task.judged_at(now)) for task in tasks))

    def _publish(self, subjects: Sequence[JudgedSubject]) -> None:
        self._observer.saved(subjects, self._clock())
        self._listeners.subjects_judged(subjects)
