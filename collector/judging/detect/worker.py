"""The judging threads: committed batches in, stored findings out; nothing here is needed after a restart.

One steps at a time. While one judges a large trace or stores results, the other goes on.
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
from tracejury.collector.worker.listeners import Listeners
from tracejury.collector.worker.outage_log import OutageLog
from tracejury.collector.worker.retry import RetryPolicy
from tracejury.collector.worker.step_lock import StepLock
from tracejury.collector.worker.worker import Work, Worker
from tracejury.judges.suite import Suite
from tracejury.processors.assemble import SECOND, Assembler, AssemblerConfig, TraceKey
from tracejury.processors.open_trace import OpenTrace
from tracejury.processors.trace_rows import Spill
from tracejury.schemas.errors import TracejuryError
from tracejury.schemas.spans import Span
from tracejury.schemas.trajectory import Trace
from tracejury.schemas.verdicts import JudgedTrace, Judgement, TraceSpend

from .gathering import Gathering
from .inbox import Inbox, TakenBatches, by_trace
from .judge_traces import TraceJudge, TraceTask
from .result_saver import ResultSaver
from .waiting import WaitingRequests
from .watch import DetectingObserver

log = logging.getLogger(__name__)

STEP_TRACES: Final = 512
IDLE_NANOS: Final = 5 * SECOND
THREADS: Final = 2
"""One goes on while one judges a large trace, or waits for the store."""
RETRY: Final = RetryPolicy(first=1.0, longest=1.0)
STEP_BACK: Final = 12
"""Under pressure judging rests so many times as long as its last step took."""
ROOM_SHARE: Final = 7 / 8
"""Of the memory of open traces, up to which it rests, and reads groups from files while something else is due: what
memory has no room for would be written to files once more."""
REST_NANOS: Final = SECOND // 50
MAX_REST_NANOS: Final = 2 * SECOND
MAX_LAG_SECONDS: Final = 4.0
"""Findings are never later than this for the sake of acknowledgements alone."""
SWEEP_LIMIT: Final = 10_000
SWEEP_EVERY: Final = 3600 * SECOND
SWEEP_SOON: Final = 10 * SECOND
ALONE_AGAIN: Final = 60 * SECOND


@dataclass(frozen=True, slots=True)
class JudgedStep:
    """Judged traces, and the keys of all that are done with.

    `joined`: some of them were judged as one; `large`: the large trace that came alone.
    """

    judged: Sequence[JudgedTrace]
    done: Sequence[TraceKey]
    joined: bool
    large: OpenTrace | None


class DetectWorker(Work[OpenTrace, JudgedStep]):
    """Judges traces as they change. `ask` from any thread; threads of its own do the work.

    `pressed` says whether clients wait for the store just now: judging then steps back, since an acknowledgement
    cannot wait and a judgement can. `selectors` choose what other judges look at; `ours` and `spent`: see `TraceJudge`;
    `listeners` are told what was stored. `clock` gives unix nanos, `timer` nanos of CPU time; `spill`: see `Assembler`.
    """

    def __init__(
        self,
        store: StoredJudging,
        suite: Suite,
        config: AssemblerConfig,
        inbox: Inbox,
        observer: DetectingObserver,
        *,
        selectors: Sequence[Selector] = (),
        ours: Callable[[Span], bool] = lambda _span: False,
        pressed: Callable[[], bool] = lambda: False,
        spent: Callable[[Trace], TraceSpend] = lambda _trace: TraceSpend(),
        listeners: Listeners | None = None,
        clock: Callable[[], int] = time.time_ns,
        timer: Callable[[], int] = time.thread_time_ns,
        spill: Spill | None = None,
    ) -> None:
        self.assembler = Assembler(config, spill)
        self.judged_traces = 0
        self._store, self._version, self._inbox, self._observer = store, suite.version, inbox, observer
        self._lock = StepLock()
        self._results = ResultSaver(store, self._lock, self._publish, self._lost, clock)
        first = self._results.save_those_of
        self._gathering = Gathering(store, self.assembler, reads_ledger=bool(selectors), before_reading=first)
        self._judge = TraceJudge(
            suite,
            self.assembler,
            self._gathering,
            observer,
            selectors=selectors,
            ours=ours,
            spent=spent,
            timer=timer,
            lock=self._lock,
        )
        self._selectors, self._listeners = selectors, listeners or Listeners()
        self._pressed, self._clock, self._timer = pressed, clock, timer
        self._requests = WaitingRequests()
        self._known: KnownTraces | None = None
        self._sweeps, self._next_sweep = False, 0
        self._max_traces = STEP_TRACES
        self._began = self._rest_until = 0
        outage, wake = OutageLog("judging", "waits for the store", "goes on", clock), inbox.wake_event
        self.worker = Worker(
            "judging", self, outage, wake=wake, retry=RETRY, threads=THREADS, stepping=self._lock, clock=clock
        )

    def start(self) -> None:
        """Start the threads; they first look for traces that an earlier process left unjudged."""
        self._sweeps = True
        self.worker.start()

    def stop(self, deadline: float) -> None:
        """Finish the step at hand within `deadline` seconds; what is left is judged at the next start."""
        if self.worker.stop(deadline):
            self._try_saving()
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
        if not keys:
            self._requests.answer((), ())
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
            since = [at for at in (self.assembler.next_due(), self._inbox.oldest) if at is not None]
        except IndexError:  # taken meanwhile
            return 0.0
        return max(self._clock() - min(since), 0) / SECOND if since else 0.0

    def sweep(self) -> int:
        """Ask for traces that the store holds unjudged and that are not open here; returns how many it holds."""
        keys = self._store.unjudged(self._version, SWEEP_LIMIT)
        self._inbox.ask([k for k in keys if self.assembler.get(k) is None])
        return len(keys)

    def sweep_if_due(self) -> None:
        """Sweep at the start, then now and then; soon where a bound left something behind."""
        now = self._clock()
        if now < self._next_sweep or len(self.assembler) >= self.assembler.config.max_traces:
            return
        self._next_sweep = now + SWEEP_SOON  # also where the store cannot answer: judging goes on meanwhile
        forgotten = self.assembler.forgotten_since
        if self.sweep() < SWEEP_LIMIT and not forgotten:
            self._next_sweep = now + SWEEP_EVERY
        self.assembler.forgotten_since -= forgotten

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
        if self._rests(now):
            return ()
        self._rest_until = now  # the next rest follows on the judging of what is taken now
        self._take(now)
        due = self.assembler.due(now, self._max_traces)
        if not due:
            self._inbox.done()
        return due

    def next_due(self) -> int:
        """At once where more waits, else when the next trace is due, or soon."""
        now = self._clock()
        if self._rests(now):
            return now + REST_NANOS
        if self._inbox.waits:
            return now
        dues = (self.assembler.next_due(), self._results.next_due(), now + IDLE_NANOS)
        return min(due for due in dues if due is not None)

    def process(self, batch: Sequence[OpenTrace]) -> JudgedStep:
        """Judge; traces for which memory has no room beside the others wait for the next step."""
        worked, began = self._began, self._clock()
        step = self._judged(batch, began)
        now = self._clock()
        self._results.worked(now - began)
        if not step.large:  # a large trace waits for its own turn as long as it took
            self._rest_until = now + min(STEP_BACK * (self._timer() - worked), MAX_REST_NANOS)
        return step

    def _judged(self, batch: Sequence[OpenTrace], now: int) -> JudgedStep:
        batch = [t for t in batch if self._judge.prepare(t)]
        missing = self._gathering.read(batch)
        tied = self._gathering.save_join_keys([t for t in batch if t.held]) | self._gathering.find_tied(batch)
        keys = {t.key for t in batch}
        joined = False
        judged: list[JudgedTrace] = []
        done: set[TraceKey] = set()
        for trace in batch:
            if trace.key in done or self.assembler.get(trace.key) is not trace:
                continue
            if trace.key in missing:
                self._gathering.fill(trace, missing.pop(trace.key))
                tied |= self._gathering.save_join_keys([trace])
            self.assembler.read_spilled(trace)
            if not trace.held:
                self.assembler.request(trace.key, now)
                continue
            group = self._gathering.group_of(trace) if trace.key in tied else (trace,)
            joined |= len(group) > 1
            held = {t.key for t in group if self._gathering.holds(t)}  # a settled one is not after it was judged
            judged += self._judge.ask(TraceTask(group, keys, now))
            done |= {t.key for t in group if t is trace or (t.key in keys and t.key in held)}
        return JudgedStep(judged, list(done), joined, next((t for t in batch if t.is_large), None))

    def save(self, result: JudgedStep) -> None:
        """Store and publish what was judged, and answer those who wait for it.

        Where it says nothing new it waits for the results of other open traces, else for the end of the pause after
        the last insert. Traces that are one are read from each other's rows.
        """
        self.judged_traces += len(result.judged)
        if result.joined or len(self._requests):
            self._results.save_alone(result.judged)
            self._requests.answer(result.done, result.judged)
            return
        if result.large:  # storing it takes long
            self._results.save_alone()
            with self._judge.apart(result.large):
                self._results.store(result.judged)
            return
        self._results.add(result.judged)
        if len(self.assembler):
            self._results.save_if_due()
        else:
            self._results.save()

    def _try_saving(self) -> None:
        try:
            with self._lock:
                self._results.save()
        except Exception as error:  # noqa: BLE001  the next start finds these traces unjudged
            log.warning("%d judged traces are left to the next start: %s", len(self._results), error)

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
            self.assembler.discard(key)
            self.assembler.request(key, at)
        self._max_traces = max(self._max_traces // 4, 1)
        self._inbox.done()

    def _take(self, now: int) -> None:
        due = self.assembler.next_due()
        taken = self._inbox.take(files=self._has_room() or due is None or due > now)
        try:
            self._take_in(taken, now)
        except Exception:
            self._read_again(keys_of(taken))
            raise

    def _take_in(self, taken: TakenBatches, now: int) -> None:
        for key in taken.gone:
            self.assembler.discard(key)
        for key in taken.asked:
            self._may_be_stored(key)
            self.assembler.request(key, now)
        for batch, received_at in taken.batches:
            for key, rows in by_trace(batch).items():
                is_whole = not self._may_be_stored(key)
                self.assembler.add(key, rows.spans, rows.logs, received_at, now, is_whole=is_whole)

    def _may_be_stored(self, key: TraceKey) -> bool:
        """Whether the store may hold rows of a trace that have not come to this thread; from now on it does."""
        return self._known is None or self._known.add(key)

    def _rests(self, now: int) -> bool:
        """Whether judging steps back for clients that wait for the store: nothing is late, and memory has room."""
        return now < self._rest_until and self._has_room() and self.lag < MAX_LAG_SECONDS and self._pressed()

    def _has_room(self) -> bool:
        return self.assembler.held_bytes < ROOM_SHARE * self.assembler.config.max_bytes

    def _publish(self, judged: Sequence[JudgedTrace]) -> None:
        for selector in self._selectors:
            selector.enqueue(judged)
        self._observer.saved(judged, self._clock())
        self._listeners.traces_judged(judged)

    def _lost(self, judged: JudgedTrace, error: TracejuryError) -> None:
        log.error("what was found in trace %s cannot be stored: %s", judged.trace.trace_id, error)
        self._observer.failed_trace()
        # What is remembered of it as stored is not.
        self.assembler.discard((judged.trace.tenant, judged.trace.trace_id))


def keys_of(taken: TakenBatches) -> set[TraceKey]:
    """All traces that the rows taken belong to, or that were asked for."""
    return {*taken.asked, *(key for batch, _ in taken.batches for key in by_trace(batch))}
