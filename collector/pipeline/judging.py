"""The judging thread: committed batches in, stored findings out; nothing here is needed after a restart."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
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
from ..panel.clerk import Clerks, Ledger, NoClerk
from .hints import first_trace_line, has_no_parent
from .inbox import Inbox, Taken, by_trace
from .outcome import LIVE, compare, input_hash, standing
from .waiting import WaitingRequests
from .watch import JudgingWatch

log = logging.getLogger(__name__)

STEP_BYTES = 8 * 1024 * 1024
STEP_TRACES = 512
IDLE_SECONDS = 0.5
RETRY_SECONDS = 1.0
STEP_BACK = 4
REST_SECONDS = 0.02
MAX_REST_SECONDS = 2.0
SWEEP_LIMIT = 10_000
SWEEP_EVERY = 3600 * SECOND
SWEEP_SOON = 10 * SECOND
MAX_SERVICES = 10_000
LOAD_ROWS = 20_000
ALONE_AGAIN = 60 * SECOND


class JudgingStore(Protocol):
    """What judging reads and writes; all of it blocks."""

    def known_rows(self, trace_ids: Sequence[str]) -> dict[str, int]:
        """Distinct spans and log records stored of each trace, one more where it was judged."""

    def load_spans(self, trace_ids: Sequence[str]) -> dict[str, tuple[list[Span], list[LogRecord]]]:
        """All rows of these traces."""

    def load_findings(self, trace_ids: Sequence[str]) -> dict[str, list[Finding]]:
        """The detectors' findings in them, of any state."""

    def load_ledger(self, trace_ids: Sequence[str]) -> Mapping[str, Ledger]:
        """What LLM judges have said of them, or are to say."""

    def unjudged(self, version: str, limit: int) -> list[TraceKey]:
        """Traces with rows newer than their last judgement, or last judged while open."""

    def save(self, judged: Sequence[JudgedTrace]) -> None:
        """Store what was judged, each judgement last."""


@dataclass(frozen=True, slots=True)
class Stored:
    """What the store has of one trace."""

    spans: list[Span]
    logs: list[LogRecord]
    findings: list[Finding]
    ledger: Ledger


class Judging:
    """Judges traces as they change. `put` and `ask` from any thread; one thread of its own does the work.

    `pressed` says whether clients wait for the store just now: judging then steps back, since an acknowledgement
    cannot wait and a judgement can. `clerk` decides what LLM judges look at; `ours` tells the spans of their own calls,
    which nobody judges. `clock` gives unix nanos, `timer` nanos for costs.
    """

    def __init__(
        self,
        store: JudgingStore,
        suite: Suite,
        config: AssemblerConfig,
        inbox: Inbox,
        watch: JudgingWatch,
        *,
        clerk: Clerks | None = None,
        ours: Callable[[Span], bool] = lambda _span: False,
        pressed: Callable[[], bool] = lambda: False,
        clock: Callable[[], int] = time.time_ns,
        timer: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        self.assembler = Assembler(config)
        self._store, self._suite, self._inbox, self._watch = store, suite, inbox, watch
        self._clerk, self._ours = clerk or NoClerk(), ours
        self._pressed, self._clock, self._timer = pressed, clock, timer
        self._waiting = WaitingRequests()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._services: set[str] = set()
        self._next_sweep = 0
        self._most = STEP_TRACES
        self._began = 0

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
        self.dismiss()

    def dismiss(self) -> None:
        """Let nobody wait any longer for what they asked: their futures fail, retryably. Idempotent."""
        self._waiting.dismiss()

    def ask(self, keys: Sequence[TraceKey]) -> Future[list[Judgement]]:
        """Have stored traces judged again; the future gives what came of those that exist."""
        future = self._waiting.add(keys)
        self._inbox.ask(keys)
        if not keys:
            self._waiting.answer((), ())
        return future

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
        self._next_sweep = now + SWEEP_SOON  # also where the store cannot answer: judging goes on meanwhile
        forgotten = self.assembler.forgotten_since
        if self.sweep() < SWEEP_LIMIT and not forgotten:
            self._next_sweep = now + SWEEP_EVERY
        self.assembler.forgotten_since -= forgotten

    def step(self, timeout: float) -> int:
        """Take what waits, judge what is due, store it; returns the number of traces judged."""
        try:
            return self._step(timeout)
        finally:
            self._inbox.done()

    def _step(self, timeout: float) -> int:
        taken = self._inbox.take(timeout, STEP_BYTES)
        self._began, now = self._timer(), self._clock()
        due: list[OpenTrace] = []
        try:
            self._take_in(taken, now)
            due = self.assembler.due(now, self._most)
            judged = self._judge_all(due, now)
        except Exception:
            self._again([t.key for t in due] if due else keys_of(taken))
            raise
        if due:
            self._most = min(2 * self._most, STEP_TRACES)
        return judged

    def _take_in(self, taken: Taken, now: int) -> None:
        for batch, received_at in taken.batches:
            for key, rows in by_trace(batch).items():
                self.assembler.add(key, rows.spans, rows.logs, received_at, now)
        for key in taken.asked:
            self.assembler.request(key, now)

    def _judge_all(self, due: Sequence[OpenTrace], now: int) -> int:
        """Judge and store; traces for which memory has no room beside the others wait for the next step."""
        missing = self._read(due)
        judged, done = [], []
        for trace in due:
            if trace.key in missing:
                self._fill(trace, missing.pop(trace.key))
            if not trace.held:
                self.assembler.request(trace.key, now)
                continue
            done.append(trace.key)
            if (one := self._judge(trace, now)) is not None:
                judged.append(one)
        self._save(judged)
        self._waiting.answer(done, judged)
        return len(judged)

    def _again(self, keys: Iterable[TraceKey]) -> None:
        """After a failure read traces from the store once more: memory may be ahead of it, or lack something.

        Until a step succeeds fewer are taken at a time, so that one at which the store always fails stops no other;
        once alone, it waits.
        """
        at = self._clock() + (ALONE_AGAIN if self._most == 1 else 0)
        for key in keys:
            self.assembler.forget(key)
            self.assembler.request(key, at)
        self._most = max(self._most // 4, 1)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self.sweep_if_due()
                self.step(self._wait())
                self._step_back(self._timer() - self._began)
            except RetryableError as error:
                log.warning("judging waits for the store: %s", error)
                self._stopping.wait(error.retry_after)
            except Exception:  # the thread must live: the step itself has taken care of what it had in hand
                log.exception("judging failed; it goes on")
                self._stopping.wait(RETRY_SECONDS)

    def _step_back(self, worked: int) -> None:
        """Under pressure rest for several times the time just worked (nanos), at most until it is over."""
        rest = min(STEP_BACK * worked / SECOND, MAX_REST_SECONDS)
        while rest > 0 and self._pressed() and not self._stopping.wait(REST_SECONDS):
            rest -= REST_SECONDS

    def _wait(self) -> float:
        due = self.assembler.next_due()
        return IDLE_SECONDS if due is None else min(max((due - self._clock()) / SECOND, 0.0), IDLE_SECONDS)

    def _read(self, due: Sequence[OpenTrace]) -> dict[TraceKey, Stored]:
        """What the store has of the traces that are not held, as far as about `LOAD_ROWS` rows go."""
        cold = [t for t in due if not t.held]
        if not cold:
            return {}
        counts = self._store.known_rows([t.key[1] for t in cold])
        keys: list[TraceKey] = []
        rows = 0
        for trace in cold:
            count = counts.get(trace.key[1], 0)
            if not trace.forced and count <= trace.rows:
                trace.stored, trace.ledger = {}, {}
                self.assembler.hold(trace.key)
            elif not keys or rows + count <= LOAD_ROWS:
                keys.append(trace.key)
                rows += count
        ids = [key[1] for key in keys]
        if not ids:
            return {}
        rows_of, findings = self._store.load_spans(ids), self._store.load_findings(ids)
        ledgers = self._store.load_ledger(ids) if self._clerk.reads else {}
        return {k: Stored(*rows_of.get(k[1], ([], [])), findings.get(k[1], []), ledgers.get(k[1], {})) for k in keys}

    def _fill(self, trace: OpenTrace, stored: Stored) -> None:
        arrivals = [s.received_at for s in stored.spans] + [r.received_at for r in stored.logs]
        trace.stored = {f.id: f for f in stored.findings}
        trace.ledger = dict(stored.ledger)
        self.assembler.fill(trace.key, stored.spans, stored.logs, max(arrivals, default=trace.last_arrival))

    def _judge(self, trace: OpenTrace, now: int) -> JudgedTrace | None:
        started = self._timer()
        state = self.assembler.state(trace, now)
        if not trace.spans:
            self.assembler.judged(trace, TraceState.SETTLED, now, 0)
            return None
        judgeable = [span for span in trace.spans.values() if not self._ours(span.raw)]
        if not judgeable:
            return self._spare(trace, state, now)
        try:
            rebuilt = replace(rebuild(judgeable, state=state), received_through=trace.received_through)
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

    def _spare(self, trace: OpenTrace, state: TraceState, now: int) -> JudgedTrace:
        """Nobody judges what our own judges did."""
        unbuilt = unbuilt_trace(trace, state)
        self.assembler.judged(trace, state, now, 0)
        judgement = self._judgement(unbuilt, now, Outcome.FILTERED)
        return JudgedTrace(unbuilt, replace(judgement, reason="calls of our own judges"))

    def _outcome(self, trace: OpenTrace, rebuilt: Trace, result: SuiteResult, now: int) -> JudgedTrace:
        change = compare(result.findings, trace.stored or {}, standing(rebuilt.state), now)
        trace.stored = {**(trace.stored or {}), **{f.id: f for f in (*change.findings, *change.retracted)}}
        judgement = self._judgement(rebuilt, now, Outcome.DONE)
        judgement = replace(judgement, findings=change.findings, failures=result.failures, dropped=result.dropped)
        if trace.ledger is None:
            trace.ledger = {}
        noted = self._clerk.consider(rebuilt, change.findings, trace.ledger, now)
        return JudgedTrace(rebuilt, judgement, change.written, change.retracted, noted.rows, noted.heard)

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
        if not judged:
            return
        try:
            self._store.save(judged)
        except RetryableError:
            raise
        except TracejuryError as error:
            self._save_each(judged, error)
        else:
            self._clerk.offer(judged)
            self._watch.saved(judged, self._clock())

    def _save_each(self, judged: Sequence[JudgedTrace], error: TracejuryError) -> None:
        if len(judged) == 1:
            log.error("what was found in trace %s cannot be stored: %s", judged[0].trace.trace_id, error)
            self._watch.failed_trace()
            # What is remembered of it as stored is not.
            self.assembler.forget((judged[0].trace.tenant, judged[0].trace.trace_id))
            return
        for one in judged:
            self._save([one])

    def _introduce(self, trace: Trace) -> None:
        if trace.service in self._services or len(self._services) >= MAX_SERVICES:
            return
        # Children come first: before the root is there, what seems to be missing may be on its way.
        rooted = any(has_no_parent(s) and not s.raw.pending for s in trace.spans.values())
        if trace.state is not TraceState.OPEN or (rooted and trace.runs):
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


def keys_of(taken: Taken) -> set[TraceKey]:
    """All traces that the rows taken belong to, or that were asked for."""
    return {*taken.asked, *(key for batch, _ in taken.batches for key in by_trace(batch))}
