"""The judging thread: committed batches in, stored findings out; nothing here is needed after a restart."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Protocol

from ....judges.suite import JUDGE, Suite, SuiteResult
from ....judges.text import TextCache
from ....processors.assemble import SECOND, Assembler, AssemblerConfig, OpenTrace, TraceKey
from ....processors.joining import groups_of, together
from ....processors.rebuild import rebuild
from ....schemas.errors import RetryableError, TracejuryError
from ....schemas.findings import LIVE
from ....schemas.normalized import NormalizedSpan
from ....schemas.spans import Span
from ....schemas.trajectory import Trace, TraceState
from ....schemas.verdicts import JudgedTrace, Judgement, Outcome, Subject, SubjectKind, TraceSpend
from ...worker.listeners import Listeners
from ..ledger import elsewhere
from .gathering import Gathering, GatheringStore
from .hints import first_trace_line, has_no_parent
from .inbox import Inbox, TakenBatches, by_trace
from .outcome import compare, input_hash, part, standing, unbuilt_trace, upstream
from .selection import Clerks, Elsewhere, NoClerk
from .waiting import WaitingRequests
from .watch import DetectingObserver

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
ALONE_AGAIN = 60 * SECOND


class JudgingStore(GatheringStore, Protocol):
    """What judging reads and writes; all of it blocks."""

    def unjudged(self, version: str, limit: int) -> list[TraceKey]:
        """Traces with rows newer than their last judgement, or last judged while open."""

    def save(self, judged: Sequence[JudgedTrace]) -> None:
        """Store what was judged, each judgement last."""

    def stays(self, judged: JudgedTrace) -> bool:
        """Whether a trace was not deleted since it was as it was judged."""


class DetectWorker:
    """Judges traces as they change. `put` and `ask` from any thread; one thread of its own does the work.

    `pressed` says whether clients wait for the store just now: judging then steps back, since an acknowledgement
    cannot wait and a judgement can. `clerk` decides what LLM judges look at; `ours` tells the spans of their own calls,
    which nobody judges; `spent` says what a trace's agents spent; `listeners` hear of what was stored. `clock` gives
    unix nanos, `timer` nanos for costs.
    """

    def __init__(
        self,
        store: JudgingStore,
        suite: Suite,
        config: AssemblerConfig,
        inbox: Inbox,
        watch: DetectingObserver,
        *,
        clerk: Clerks | None = None,
        ours: Callable[[Span], bool] = lambda _span: False,
        pressed: Callable[[], bool] = lambda: False,
        spent: Callable[[Trace], TraceSpend] = lambda _trace: TraceSpend(),
        listeners: Listeners | None = None,
        clock: Callable[[], int] = time.time_ns,
        timer: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        self.assembler = Assembler(config)
        self._store, self._suite, self._inbox, self._watch = store, suite, inbox, watch
        self._clerk, self._ours = clerk or NoClerk(), ours
        self._gathering = Gathering(store, self.assembler, reads_ledger=lambda: self._clerk.reads)
        self._spent, self._listeners = spent, listeners or Listeners()
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

    def forget(self, keys: Collection[TraceKey], through: int) -> None:
        """These are deleted as far as they arrived by `through` (unix nanos): nothing of that is judged again."""
        self._inbox.forget(keys, through)

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

    @property
    def lag(self) -> float:
        """Seconds for which the trace that is due first has waited to be judged; from any thread."""
        try:
            due = self.assembler.next_due()
        except IndexError:  # taken meanwhile
            return 0.0
        return 0.0 if due is None else max(self._clock() - due, 0) / SECOND

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

    def _take_in(self, taken: TakenBatches, now: int) -> None:
        for key in taken.gone:
            self.assembler.forget(key)
        for batch, received_at in taken.batches:
            for key, rows in by_trace(batch).items():
                self.assembler.add(key, rows.spans, rows.logs, received_at, now)
        for key in taken.asked:
            self.assembler.request(key, now)

    def _judge_all(self, due: Sequence[OpenTrace], now: int) -> int:
        """Judge and store; traces for which memory has no room beside the others wait for the next step."""
        missing = self._gathering.read(due)
        self._gathering.note([t for t in due if t.held])
        self._gathering.look(due)
        keys = {t.key for t in due}
        judged: list[JudgedTrace] = []
        done: set[TraceKey] = set()
        for trace in due:
            if trace.key in done:
                continue
            if trace.key in missing:
                self._gathering.fill(trace, missing.pop(trace.key))
                self._gathering.note([trace])
            if not trace.held:
                self.assembler.request(trace.key, now)
                continue
            group = self._gathering.group(trace)
            judged += self._judge_group(group, keys, now)
            done |= {t.key for t in group if t is trace or (t.key in keys and self._gathering.holds(t))}
        self._save(judged)
        self._waiting.answer(list(done), judged)
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

    def _judge_group(self, group: Sequence[OpenTrace], due: Collection[TraceKey], now: int) -> list[JudgedTrace]:
        """Judge traces that may be one. Of those that are not due only what changes is told."""
        judgeable: dict[str, list[NormalizedSpan]] = {}
        told: list[JudgedTrace] = []
        for trace in group:
            spans = [span for span in trace.spans.values() if not self._ours(span.raw)]
            if spans:
                judgeable[trace.key[1]] = spans
            elif trace.spans:
                told.append(self._spare(trace, now))
            else:
                self.assembler.judged(trace, TraceState.SETTLED, now, 0)
        members = {t.key[1]: t for t in group if t.key[1] in judgeable}
        groups = groups_of(judgeable) if len(judgeable) > 1 else [tuple(judgeable)] if judgeable else ()
        if len(group) > 1 and any(_joins(members[i], ids[0]) for ids in groups for i in ids):
            self._gathering.refresh(list(members.values()))
        ledgers = {i: dict(t.ledger or {}) for i, t in members.items()} if len(group) > 1 else {}
        for ids in groups:
            before = elsewhere(ledger for i, ledger in ledgers.items() if i != ids[0])
            told += self._judge([members[i] for i in ids], [s for i in ids for s in judgeable[i]], due, now, before)
        return told

    def _judge(
        self,
        members: Sequence[OpenTrace],
        spans: Sequence[NormalizedSpan],
        due: Collection[TraceKey],
        now: int,
        before: Elsewhere,
    ) -> list[JudgedTrace]:
        """Judge one, or several as one under the id of the first; `before`: what stands of their runs elsewhere."""
        started = self._timer()
        first = members[0]
        states = {t.key: self.assembler.state(t, now) for t in members}
        state = together(states.values())
        newest = max(t.received_through for t in members)
        why, result = "", None
        try:
            rebuilt = replace(rebuild(spans, state=state), trace_id=first.key[1], received_through=newest)
            first.cache = first.cache or TextCache()
            result = self._suite.judge(rebuilt, first.cache)
        except Exception as error:  # one trace that cannot be judged must not stop the others
            log.exception("trace %s cannot be judged", first.key[1])
            self._watch.failed_trace()
            rebuilt = unbuilt_trace(first, spans, state)
            why = f"{type(error).__name__}: {error}"[:200]
        cost = self._timer() - started
        told = []
        for trace in members:
            own = rebuilt if trace is first else part(rebuilt, trace, states[trace.key])
            one = (
                self._outcome(trace, own, rebuilt, result, now, before)
                if result
                else self._failure(trace, own, why, now)
            )
            self.assembler.judged(trace, states[trace.key], now, cost)
            moved = _joins(trace, first.key[1])
            if trace.key in due or trace is first or moved or one.changed or one.retracted or one.ledger:
                self._watch.judged(one, cost)
                told.append(one)
            trace.joined_to = own.joined_to
        self._introduce(rebuilt)
        return told

    def _spare(self, trace: OpenTrace, now: int) -> JudgedTrace:
        """Nobody judges what our own judges did."""
        state = self.assembler.state(trace, now)
        unbuilt = unbuilt_trace(trace, list(trace.spans.values()), state)
        self.assembler.judged(trace, state, now, 0)
        judgement = self._judgement(unbuilt, now, Outcome.FILTERED)
        return JudgedTrace(unbuilt, replace(judgement, reason="calls of our own judges"))

    def _outcome(
        self, trace: OpenTrace, own: Trace, whole: Trace, result: SuiteResult, now: int, before: Elsewhere
    ) -> JudgedTrace:
        found = [f for f in result.findings if f.trace_id == own.trace_id]
        change = compare(found, trace.stored or {}, standing(own.state), now)
        trace.stored = {**(trace.stored or {}), **{f.id: f for f in (*change.findings, *change.retracted)}}
        judgement = self._judgement(own, now, Outcome.DONE)
        judgement = replace(judgement, findings=change.findings, failures=result.failures, dropped=result.dropped)
        spent = self._spent(own)
        if trace.ledger is None:
            trace.ledger = {}
        if own.joined_to:
            gone = self._clerk.release(own, whole, trace.ledger, moved=_joins(trace, own.joined_to))
            return JudgedTrace(own, judgement, change.written, change.retracted, gone, spent=spent)
        noted = self._clerk.consider(own, result.findings, trace.ledger, now, before)
        return JudgedTrace(own, judgement, change.written, change.retracted, noted.rows, noted.heard, spent)

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
            probability=upstream(rebuilt),
        )

    def _save(self, judged: Sequence[JudgedTrace]) -> None:
        judged = [one for one in judged if self._store.stays(one)]
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
            self._listeners.judged(judged)

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


def _joins(trace: OpenTrace, first: str) -> bool:
    """Whether a trace shows at another one, the `first` of its run, than when it was last judged, as far as we know."""
    return trace.joined_to != (first if first != trace.key[1] else "")


def keys_of(taken: TakenBatches) -> set[TraceKey]:
    """All traces that the rows taken belong to, or that were asked for."""
    return {*taken.asked, *(key for batch, _ in taken.batches for key in by_trace(batch))}
