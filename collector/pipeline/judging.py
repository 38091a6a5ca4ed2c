"""The judging thread: committed batches in, stored findings out; nothing here is needed after a restart."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Protocol

from ...judges.suite import JUDGE, Suite, SuiteResult
from ...judges.text import TextCache
from ...processors.assemble import SECOND, Assembler, AssemblerConfig, OpenTrace, TraceKey
from ...processors.rebuild import rebuild
from ...schemas.errors import RetryableError, TracejuryError
from ...schemas.findings import Finding
from ...schemas.spans import LogRecord, Span
from ...schemas.trajectory import Trace, TraceState
from ...schemas.verdicts import JudgedTrace, Judgement, Outcome, Subject, SubjectKind
from .hints import first_trace_line
from .inbox import Inbox, by_trace
from .outcome import LIVE, compare, input_hash
from .watch import JudgingWatch

log = logging.getLogger(__name__)

STEP_BYTES = 8 * 1024 * 1024
STEP_TRACES = 32
IDLE_SECONDS = 0.5
RETRY_SECONDS = 1.0
STEP_BACK = 4
REST_SECONDS = 0.02
MAX_REST_SECONDS = 2.0
SWEEP_LIMIT = 10_000
SWEEP_EVERY = 300 * SECOND
SWEEP_SOON = 10 * SECOND
MAX_SERVICES = 10_000


class JudgingStore(Protocol):
    """What judging reads and writes; all of it blocks."""

    def known_rows(self, trace_ids: Sequence[str]) -> dict[str, int]:
        """Distinct spans and log records stored of each trace, one more where it was judged."""

    def load_spans(self, trace_ids: Sequence[str]) -> dict[str, tuple[list[Span], list[LogRecord]]]:
        """All rows of these traces."""

    def load_findings(self, trace_ids: Sequence[str]) -> dict[str, list[Finding]]:
        """Their findings, of any state."""

    def unjudged(self, version: str, limit: int) -> list[TraceKey]:
        """Traces with rows newer than their last judgement, or last judged while open."""

    def save(self, judged: Sequence[JudgedTrace]) -> None:
        """Store what was judged, each judgement last."""


@dataclass(slots=True)
class Request:
    """Traces that somebody waits for."""

    wanted: set[TraceKey]
    judgements: list[Judgement] = field(default_factory=list)
    future: Future[list[Judgement]] = field(default_factory=Future)

    def take(self, done: Sequence[TraceKey], judged: Sequence[JudgedTrace]) -> None:
        """Note what is done; answers when nothing is left."""
        self.judgements += [j.judgement for j in judged if (j.trace.tenant, j.trace.trace_id) in self.wanted]
        self.wanted.difference_update(done)
        if not self.wanted:
            self.future.set_result(self.judgements)


class Judging:
    """Judges traces as they change. `put` and `ask` from any thread; one thread of its own does the work.

    `pressed` says whether clients wait for the store just now: judging then steps back, since an acknowledgement
    cannot wait and a judgement can. `clock` gives unix nanos, `timer` nanos for costs.
    """

    def __init__(
        self,
        store: JudgingStore,
        suite: Suite,
        config: AssemblerConfig,
        inbox: Inbox,
        watch: JudgingWatch,
        *,
        pressed: Callable[[], bool] = lambda: False,
        clock: Callable[[], int] = time.time_ns,
        timer: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        self.assembler = Assembler(config)
        self._store, self._suite, self._inbox, self._watch = store, suite, inbox, watch
        self._pressed, self._clock, self._timer = pressed, clock, timer
        self._requests: list[Request] = []
        self._asking = threading.Lock()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._services: set[str] = set()
        self._next_sweep = 0

    def start(self) -> None:
        """Start the thread; it first looks for traces that an earlier process left unjudged."""
        self._thread = threading.Thread(target=self._run, name="judging", daemon=True)
        self._thread.start()

    def stop(self, deadline: float) -> None:
        """Finish the step at hand within `deadline` seconds; what is left is judged at the next start."""
        self._stopping.set()
        self._inbox.wake()
        if self._thread is not None:
            self._thread.join(deadline)

    def ask(self, keys: Sequence[TraceKey]) -> Future[list[Judgement]]:
        """Have stored traces judged again; the future gives what came of those that exist."""
        request = Request(set(keys))
        with self._asking:
            self._requests.append(request)
        self._inbox.ask(keys)
        if not keys:
            self._answer((), ())
        return request.future

    @property
    def idle(self) -> bool:
        """Whether every trace is judged and closed, as far as this moment tells."""
        return self._inbox.empty and not len(self.assembler)

    def sweep(self) -> int:
        """Ask for traces that the store holds unjudged and that are not open here; returns how many it holds."""
        keys = self._store.unjudged(self._suite.version, SWEEP_LIMIT)
        self._inbox.ask([k for k in keys if self.assembler.get(k) is None])
        return len(keys)

    def sweep_if_due(self) -> None:
        """Sweep at the start, then now and then; soon where a bound left something behind."""
        now = self._clock()
        if now < self._next_sweep or len(self.assembler) >= self.assembler.config.max_traces:
            return
        forgotten, self.assembler.forgotten_since = self.assembler.forgotten_since, 0
        more = self.sweep() >= SWEEP_LIMIT or forgotten
        self._next_sweep = now + (SWEEP_SOON if more else SWEEP_EVERY)

    def step(self, timeout: float) -> int:
        """Take what waits, judge what is due, store it; returns the number of traces judged."""
        try:
            return self._step(timeout)
        finally:
            self._inbox.done()

    def _step(self, timeout: float) -> int:
        taken = self._inbox.take(timeout, STEP_BYTES)
        now = self._clock()
        for batch, received_at in taken.batches:
            for key, rows in by_trace(batch).items():
                self.assembler.add(key, rows.spans, rows.logs, received_at, now)
        for key in taken.asked:
            self.assembler.request(key, now)
        due = self.assembler.due(now, STEP_TRACES)
        self._complete(due)
        judged = [j for trace in due if (j := self._judge(trace, now)) is not None]
        self._save(judged)
        self._answer([trace.key for trace in due], judged)
        return len(judged)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self.sweep_if_due()
                started = self._timer()
                self.step(self._wait())
                self._step_back(self._timer() - started)
            except RetryableError as error:
                log.warning("judging waits for the store: %s", error)
                self._stopping.wait(error.retry_after)
            except Exception:  # the thread must live: what fails here is found again by the next sweep
                log.exception("judging failed; it goes on")
                self._next_sweep = 0
                self._stopping.wait(RETRY_SECONDS)

    def _step_back(self, worked: int) -> None:
        """Under pressure rest for several times the time just worked (nanos), at most until it is over."""
        rest = min(STEP_BACK * worked / SECOND, MAX_REST_SECONDS)
        while rest > 0 and self._pressed() and not self._stopping.wait(REST_SECONDS):
            rest -= REST_SECONDS

    def _wait(self) -> float:
        due = self.assembler.next_due()
        return IDLE_SECONDS if due is None else min(max((due - self._clock()) / SECOND, 0.0), IDLE_SECONDS)

    def _complete(self, due: Sequence[OpenTrace]) -> None:
        cold = [t for t in due if not t.held]
        if not cold:
            return
        counts = self._store.known_rows([t.key[1] for t in cold])
        missing = []
        for trace in cold:
            if not trace.forced and counts.get(trace.key[1], 0) <= trace.rows:
                trace.stored = {}
                self.assembler.hold(trace.key)
            else:
                missing.append(trace)
        ids = [t.key[1] for t in missing]
        if not ids:
            return
        rows, findings = self._store.load_spans(ids), self._store.load_findings(ids)
        for trace in missing:
            spans, logs = rows.get(trace.key[1], ([], []))
            arrivals = [s.received_at for s in spans] + [r.received_at for r in logs]
            last = max(arrivals, default=trace.last_arrival)
            trace.stored = {f.id: f for f in findings.get(trace.key[1], ())}
            self.assembler.fill(trace.key, spans, logs, last)

    def _judge(self, trace: OpenTrace, now: int) -> JudgedTrace | None:
        started = self._timer()
        state = self.assembler.state(trace, now)
        if not trace.spans:
            self.assembler.judged(trace, TraceState.SETTLED, now, 0)
            return None
        try:
            rebuilt = replace(rebuild(trace.spans.values(), state=state), received_through=trace.received_through)
            trace.cache = trace.cache or TextCache()
            result = self._suite.judge(rebuilt, trace.cache)
        except Exception as error:  # one trace that cannot be judged must not stop the others
            log.exception("trace %s cannot be judged", trace.key[1])
            self._watch.failed_trace()
            rebuilt = unbuilt_trace(trace, state)
            result = None
            why = f"{type(error).__name__}: {error}"[:200]
        cost = self._timer() - started
        judged = self._outcome(trace, rebuilt, result, now) if result else self._failure(trace, rebuilt, why, now)
        self._introduce(rebuilt)
        self.assembler.judged(trace, state, now, cost)
        self._watch.judged(judged, cost)
        return judged

    def _outcome(self, trace: OpenTrace, rebuilt: Trace, result: SuiteResult, now: int) -> JudgedTrace:
        change = compare(result.findings, trace.stored or {}, rebuilt.state, now)
        trace.stored = {**(trace.stored or {}), **{f.id: f for f in (*change.findings, *change.retracted)}}
        judgement = self._judgement(rebuilt, now, Outcome.DONE)
        judgement = replace(judgement, findings=change.findings, failures=result.failures, dropped=result.dropped)
        return JudgedTrace(rebuilt, judgement, change.written, change.retracted)

    def _failure(self, trace: OpenTrace, rebuilt: Trace, why: str, now: int) -> JudgedTrace:
        """A judge's failure is not a verdict: what was found before stands."""
        standing = tuple(f for f in (trace.stored or {}).values() if f.state in LIVE)
        judgement = self._judgement(rebuilt, now, Outcome.FAILED)
        return JudgedTrace(rebuilt, replace(judgement, findings=standing, failures=((JUDGE, why),)))

    def _judgement(self, rebuilt: Trace, now: int, outcome: Outcome) -> Judgement:
        return Judgement(
            subject=Subject(SubjectKind.TRACE, rebuilt.trace_id, rebuilt.trace_id, rebuilt.tenant),
            judge=JUDGE,
            version=self._suite.version,
            input_hash=input_hash(rebuilt),
            judged_at=now,
            received_through=rebuilt.received_through,
            outcome=outcome,
        )

    def _save(self, judged: Sequence[JudgedTrace]) -> None:
        if judged:
            try:
                self._store.save(judged)
            except RetryableError:
                self._again(judged)
                raise
            except TracejuryError as error:
                self._save_each(judged, error)
            self._watch.saved(judged, self._clock())

    def _save_each(self, judged: Sequence[JudgedTrace], error: TracejuryError) -> None:
        if len(judged) == 1:
            log.error("what was found in trace %s cannot be stored: %s", judged[0].trace.trace_id, error)
            self._watch.failed_trace()
            return
        for one in judged:
            self._save([one])

    def _again(self, judged: Sequence[JudgedTrace]) -> None:
        now = self._clock()
        for one in judged:
            key = (one.trace.tenant, one.trace.trace_id)
            self.assembler.forget(key)
            self.assembler.request(key, now)

    def _answer(self, done: Sequence[TraceKey], judged: Sequence[JudgedTrace]) -> None:
        with self._asking:
            for request in self._requests:
                request.take(done, judged)
            self._requests = [r for r in self._requests if r.wanted]

    def _introduce(self, trace: Trace) -> None:
        told = trace.state is not TraceState.OPEN or any(run.span for run in trace.runs)
        if told and trace.service not in self._services and len(self._services) < MAX_SERVICES:
            self._services.add(trace.service)
            log.info("%s", first_trace_line(trace))


def unbuilt_trace(trace: OpenTrace, state: TraceState) -> Trace:
    """What stands for a trace that could not be rebuilt: its spans, all in the remainder."""
    spans = sorted(trace.spans.values(), key=lambda s: (s.raw.start, s.span_id))
    return Trace(
        trace_id=trace.key[1],
        tenant=trace.key[0],
        service=spans[0].raw.service,
        session_id="",
        state=state,
        runs=(),
        spans={s.span_id: s for s in spans},
        remainder=tuple(spans),
        start=spans[0].raw.start,
        end=max(s.raw.end for s in spans),
        received_through=trace.received_through,
    )
