"""The judging threads: committed batches in, stored findings out; nothing here is needed after a restart.

A step goes one way: what waits in the inbox is assembled to open traces, the schedule says which are due, what is
missing of them is read from the store, they are judged, and their results are stored. One thread steps at a time; while
one judges a large trace or stores results, the other goes on.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Final

from tracejury.collector.judging.pipeline import Selector
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.known_traces import KnownTraces
from tracejury.collector.store.unjudged import OthersTime
from tracejury.collector.worker.listeners import Listeners
from tracejury.collector.worker.outage_log import OutageLog
from tracejury.collector.worker.retry import RetryPolicy
from tracejury.collector.worker.spill_files import SpillFiles
from tracejury.collector.worker.step_lock import StepLock
from tracejury.collector.worker.worker import Work, Worker
from tracejury.judges.runaways import UNKNOWN, UsualRuns
from tracejury.judges.suite import Suite
from tracejury.processors.assemble import SECOND, Assembler, AssemblerConfig, TraceKey
from tracejury.processors.life_cycle import is_closed
from tracejury.processors.open_trace import OpenTrace
from tracejury.processors.schedule import Schedule
from tracejury.schemas.errors import TracejuryError
from tracejury.schemas.spans import Span
from tracejury.schemas.trajectory import Trace
from tracejury.schemas.verdicts import JudgedTrace, Judgement, TraceSpend

from .gathering import Gathering
from .inbox import Inbox, by_trace
from .judge_traces import TraceJudge
from .memory import TraceMemory
from .metrics import JudgingMetrics
from .result_saver import ResultSaver
from .waiting import WaitingRequests

log = logging.getLogger(__name__)

STEP_TRACES: Final = 512
IDLE_NANOS: Final = 5 * SECOND
THREADS: Final = 2
"""One goes on while one judges a large trace, or waits for the store."""
RETRY: Final = RetryPolicy(first=1.0, longest=1.0)
REST_NANOS: Final = SECOND // 50
SWEEP_LIMIT: Final = 10_000
SWEEP_EVERY: Final = 3600 * SECOND
SWEEP_SOON: Final = 10 * SECOND
SWEEP_AMONG_OTHERS: Final = 600 * SECOND
"""Where others judge, too: what one of them left open is found once its time is over."""
ALONE_AGAIN: Final = 60 * SECOND


@dataclass(frozen=True, slots=True)
class JudgedStep:
    """The traces of a step, with those that they are one with, and what came of them.

    `done`: keys of those that were due and are judged; `joined`: some were judged as one; `large`: one came alone.
    """

    traces: Sequence[OpenTrace]
    judged: Sequence[JudgedTrace]
    done: Sequence[TraceKey]
    joined: bool
    large: bool


class DetectWorker(Work[OpenTrace, JudgedStep]):
    """Judges traces as they change. `ask` from any thread; threads of its own do the work.

    `pressed` says whether clients wait for the store just now: judging then steps back, since an acknowledgement
    cannot wait and a judgement can. `selectors` choose what other judges look at; `ours`, `spent` and `usual`: see
    `TraceJudge`; `listeners` are told what was stored. `clock` gives unix nanos, `timer` nanos of CPU time; `files`:
    see `TraceMemory`; `takeover`: nanos that other processes have for a trace, None where there are none.
    """

    def __init__(
        self,
        store: StoredJudging,
        suite: Suite,
        config: AssemblerConfig,
        inbox: Inbox,
        metrics: JudgingMetrics,
        *,
        selectors: Sequence[Selector] = (),
        ours: Callable[[Span], bool] = lambda _span: False,
        pressed: Callable[[], bool] = lambda: False,
        spent: Callable[[Trace], TraceSpend] = lambda _trace: TraceSpend(operations=None),
        usual: Callable[[Trace], UsualRuns] = lambda _trace: UNKNOWN,
        listeners: Listeners | None = None,
        clock: Callable[[], int] = time.time_ns,
        timer: Callable[[], int] = time.thread_time_ns,
        files: SpillFiles | None = None,
        takeover: int | None = None,
    ) -> None:
        self.judged_traces = 0
        self.assembler = Assembler(config)
        self.memory = TraceMemory(self.assembler, files)
        self.schedule = Schedule(self.assembler, pressed)
        self._store, self._version, self._inbox, self._metrics = store, suite.version, inbox, metrics
        self._lock = StepLock()
        self._results = ResultSaver(store, self._lock, self._publish, self._lost, clock)
        first = self._results.save_those_of
        self._gathering = Gathering(store, self.assembler, self.memory, first, bool(selectors))
        self._judge = TraceJudge(
            suite, self.assembler, self._gathering, metrics, self._lock, timer, selectors, ours, spent, usual
        )
        self._selectors, self._listeners = selectors, listeners or Listeners()
        self._clock, self._timer = clock, timer
        self._requests = WaitingRequests()
        self._known: KnownTraces | None = None
        self._sweeps, self._next_sweep = False, 0
        self._others = None if takeover is None else OthersTime(takeover, config.rootless)
        self._max_traces = STEP_TRACES
        self._began = 0
        outage, wake = OutageLog("judging", "waits for the store", "goes on", clock), inbox.wake_event
        self.worker = Worker(
            "judging", self, outage, wake=wake, retry=RETRY, threads=THREADS, stepping=self._lock, clock=clock
        )

    @property
    def version(self) -> str:
        """Of the detectors, with their settings and calibration."""
        return self._version

    def start(self) -> None:
        """Start the threads; they first look for traces that an earlier process left unjudged."""
        self._sweeps = True
        self.worker.start()

    def stop(self, deadline: float) -> None:
        """Finish the step at hand within `deadline` seconds; what is left is judged at the next start."""
        if self.worker.stop(deadline):
            try:
                with self._lock:
                    self._results.save()
            except Exception as error:  # noqa: BLE001  the next start finds these traces unjudged
                log.warning("%d judged traces are left to the next start: %s", len(self._results), error)
        self.dismiss()

    def forget(self, keys: Collection[TraceKey], through: int) -> None:
        """Judge nothing again of these deleted traces that arrived by `through` (unix nanos)."""
        self._inbox.forget(keys, through)

    def dismiss(self) -> None:
        """Fail the futures of all who wait, retryably. Idempotent."""
        self._requests.dismiss()

    def ask(self, keys: Sequence[TraceKey]) -> Future[list[Judgement]]:
        """Have stored traces judged again; the future gives what came of those that exist."""
        future = self._requests.add(keys)
        self._inbox.ask(keys)
        return future

    @property
    def idle(self) -> bool:
        """Whether every trace is judged and closed, as far as this moment tells."""
        return self._inbox.empty and not self.open_traces

    @property
    def open_traces(self) -> int:
        """Traces that may still change, or whose result is still to be stored."""
        return len(self.assembler) + len(self._results)

    @property
    def lag(self) -> float:
        """Seconds for which the trace that is due first, or what arrived first, has waited; from any thread."""
        try:
            return self._lag(self._clock()) / SECOND
        except (IndexError, RuntimeError):  # taken meanwhile
            return 0.0

    def sweep(self) -> int:
        """Ask for traces that the store holds unjudged and that are not open here; returns how many it holds."""
        keys = self._store.unjudged(self._version, SWEEP_LIMIT, self._others)
        self._inbox.ask([k for k in keys if not self.is_open(k)])
        return len(keys)

    def is_open(self, key: TraceKey) -> bool:
        """Whether a trace is open here; from any thread, as far as this moment tells."""
        return self.assembler.get(key) is not None

    def take_up(self, keys: Collection[TraceKey], *, left: bool = False) -> None:
        """Judge these from the store, since others stored rows of them; `left`: only where nobody has finished them.

        From any thread. Raises RetryableError, StoreError: with `left`.
        """
        self._inbox.ask(self._store.unjudged_among(keys, self._version) if left else list(keys))

    def sweep_if_due(self) -> None:
        """Sweep at the start, then now and then; soon where a bound left something behind."""
        now = self._clock()
        if now < self._next_sweep or len(self.assembler) >= self.assembler.config.max_traces:
            return
        self._next_sweep = now + SWEEP_SOON  # also where the store cannot answer: judging goes on meanwhile
        forgotten = self.memory.forgotten_since
        if self.sweep() < SWEEP_LIMIT and not forgotten:
            self._next_sweep = now + (SWEEP_EVERY if self._others is None else SWEEP_AMONG_OTHERS)
        self.memory.forgotten_since -= forgotten

    def read_known_again(self) -> None:
        """Others have stored traces that now come to this process; from any thread."""
        self._known = None

    def step(self) -> int:
        """Take what waits, judge what is due, store it; returns the number of traces judged."""
        before = self.judged_traces
        self.worker.step()
        with self._lock:
            self._results.save()
        return self.judged_traces - before

    def due(self, now: int) -> Sequence[OpenTrace]:
        """Take what waits; the traces that are due now."""
        self._results.save_if_due()
        if self._known is None:
            self._known = self._store.known_traces()
        if self._sweeps:
            self.sweep_if_due()
        self._began = self._timer()
        if self.schedule.rests(now, self._lag(now)):
            return ()
        self._take_in(now)
        due = self.schedule.take(now, self._max_traces)
        if not due:
            self._inbox.done()
        return due

    def next_due(self) -> int:
        """At once where more waits, else when the next trace is due, or soon."""
        with self._lock:
            now = self._clock()
            if self.schedule.rests(now, self._lag(now)):
                return now + REST_NANOS
            if self._inbox.waits:
                return now
            dues = (self.schedule.next_due(), self._results.next_due(), now + IDLE_NANOS)
            return min(due for due in dues if due is not None)

    def process(self, batch: Sequence[OpenTrace]) -> JudgedStep:
        """Judge; traces for which memory has no room beside the others wait for the next step."""
        worked, now = self._began, self._clock()
        keys, large = {t.key for t in batch}, len(batch) == 1 and batch[0].is_large
        traces, judged, joined = list(batch), list[JudgedTrace](), False
        try:
            held = self._gathering.complete(batch, now)
            if large and held:
                with self._lock.left():
                    _ = held[0].spans  # normalised now, which takes as long as judging
                held = [t for t in held if self.assembler.is_open(t)]  # else it was deleted meanwhile
            for group in self._gathering.groups(held, now):
                traces += [t for t in group if t.key not in keys]
                joined |= len(group) > 1
                for trace in group:
                    trace.taken = True
                judged += self._judge.judge(group, keys, now)
                for trace in group:
                    self.schedule.judged(trace, self._clock())
        except BaseException:
            self._distrust(traces)
            raise
        ended = self._clock()
        self._results.worked(ended - now)
        if not large:  # a large trace waits for its own turn as long as it took
            self.schedule.worked(ended, self._timer() - worked)
        return JudgedStep(traces, judged, [t.key for t in held], joined, large)

    def save(self, result: JudgedStep) -> None:
        """Store and publish what was judged, and answer those who wait for it; close what was judged to its end.

        Where it says nothing new it waits for the results of other open traces, else for the end of the pause after
        the last insert. Traces that are one are read from each other's rows.
        """
        self.judged_traces += len(result.judged)
        closing = sum(map(is_closed, filter(self.assembler.is_open, result.traces)))
        try:
            if result.joined or len(self._requests):
                self._results.save(result.judged, alone=True)
                self._requests.answer(result.done, result.judged)
            elif result.large:  # storing it takes long
                self._results.save(alone=True)
                with self._lock.left():
                    self._results.store(result.judged)
            else:
                self._results.add(result.judged)
                if closing < len(self.assembler):
                    self._results.save_if_due()
                else:
                    self._results.save()
        except BaseException:
            self._distrust(result.traces)
            raise
        for trace in result.traces:
            trace.taken = False
            if not is_closed(trace):
                self.schedule.put(trace)
            elif self.assembler.is_open(trace):
                self.schedule.closed(trace, self._clock())
                self.memory.discard(trace.key)
        self.memory.bound()

    def done(self, batch: Sequence[OpenTrace]) -> None:  # noqa: ARG002  the base's signature
        """After a success a step takes more again."""
        self._max_traces = min(2 * self._max_traces, STEP_TRACES)
        self._inbox.done()

    def put_back(self, batch: Sequence[OpenTrace], not_before: int) -> None:  # noqa: ARG002  the base's signature
        """Have these read from the store once more: memory may be ahead of it, or lack something."""
        self._read_again(t.key for t in batch)

    def _read_again(self, keys: Iterable[TraceKey]) -> None:
        """Ask for these traces once more.

        Until a step succeeds fewer are taken at a time, so that one at which the store always fails stops no other;
        once alone, it waits.
        """
        at = self._clock() + (ALONE_AGAIN if self._max_traces == 1 else 0)
        for key in keys:
            self.memory.discard(key)
            self.schedule.put(self.memory.request(key, at))
        self._max_traces = max(self._max_traces // 4, 1)
        self._inbox.done()

    def _take_in(self, now: int) -> None:
        """Assemble what waits; files are read where memory has room, or nothing else is due."""
        due = self.schedule.next_due()
        taken = self._inbox.take(files=self.schedule.has_room() or due is None or due > now)
        try:
            for key in taken.gone:
                self.memory.discard(key)
            for key in taken.asked:
                self._may_be_stored(key)
                self.schedule.put(self.memory.request(key, now))
            self.memory.bound()
            for batch, received_at in taken.batches:
                for key, rows in by_trace(batch).items():
                    is_whole = not self._may_be_stored(key)
                    trace = self.assembler.add(key, rows.spans, rows.logs, received_at, now, is_whole=is_whole)
                    self.schedule.put(trace)
                self.memory.bound()
        except Exception:
            self._read_again({*taken.asked, *(key for batch, _ in taken.batches for key in by_trace(batch))})
            raise

    def _distrust(self, traces: Iterable[OpenTrace]) -> None:
        """What is known of these as stored may not be: they are read again before they are judged."""
        for trace in traces:
            trace.held, trace.stored, trace.taken = False, None, False
            self.schedule.put(trace)

    def _may_be_stored(self, key: TraceKey) -> bool:
        """Whether the store may hold rows of a trace that have not come to this thread; from now on it does."""
        return self._known is None or self._known.add(key)

    def _lag(self, now: int) -> int:
        since = [at for at in (self.schedule.next_due(), self._inbox.oldest) if at is not None]
        return max(now - min(since), 0) if since else 0

    def _publish(self, judged: Sequence[JudgedTrace]) -> None:
        for selector in self._selectors:
            selector.enqueue(judged)
        self._metrics.saved(judged, self._clock())
        self._listeners.traces_judged(judged)
        if again := self._store.judged_meanwhile(judged):
            self._inbox.ask(again)

    def _lost(self, judged: JudgedTrace, error: TracejuryError) -> None:
        log.error("what was found in trace %s cannot be stored: %s", judged.trace.trace_id, error)
        self._metrics.failed_trace()
        # What is remembered of it as stored is not.
        self.memory.discard((judged.trace.tenant, judged.trace.trace_id))
