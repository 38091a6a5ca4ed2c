"""The detectors as a judge of traces, each with the traces that are one with it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from tracejury.collector.judging.ledger import elsewhere
from tracejury.collector.judging.pipeline import Elsewhere, Selector, compare
from tracejury.collector.worker.step_lock import StepLock
from tracejury.judges.suite import Suite, SuiteResult
from tracejury.processors.assemble import Assembler, TraceKey
from tracejury.processors.joining import groups_of, together
from tracejury.processors.open_trace import OpenTrace
from tracejury.processors.rebuild import Rebuilder
from tracejury.schemas.findings import LIVE
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.spans import Span
from tracejury.schemas.trajectory import KnownRuns, Trace, TraceState
from tracejury.schemas.verdicts import (
    DETECTORS,
    JudgedTrace,
    Judgement,
    LedgerEntries,
    Outcome,
    Subject,
    SubjectKind,
    TraceSpend,
)

from .gathering import Gathering
from .hints import FirstTraces
from .outcome import input_hash, part, standing, unbuilt_trace, upstream
from .watch import DetectingObserver

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TraceTask:
    """Open traces that may be one, `due`: keys of all that are due in this step; `now`: unix nanos."""

    group: Sequence[OpenTrace]
    due: Collection[TraceKey]
    now: int


@dataclass(frozen=True, slots=True)
class _Memory:
    """What is kept of an open trace from one pass to the next: only what changed is rebuilt and judged again."""

    rebuilder: Rebuilder = field(default_factory=Rebuilder)
    known: KnownRuns = field(default_factory=dict)


class TraceJudge:
    """Judges traces with a suite of detectors, and has `selectors` choose what other judges look at.

    `ours` tells the spans of our own judge calls, which nobody judges; `spent` says what a trace's agents spent;
    `timer` gives nanos of CPU time of its thread. `lock` is held by whoever calls, and left while a large trace is
    judged.
    """

    def __init__(
        self,
        suite: Suite,
        assembler: Assembler,
        gathering: Gathering,
        observer: DetectingObserver,
        *,
        selectors: Sequence[Selector] = (),
        ours: Callable[[Span], bool] = lambda _span: False,
        spent: Callable[[Trace], TraceSpend] = lambda _trace: TraceSpend(),
        timer: Callable[[], int] = time.thread_time_ns,
        lock: StepLock,
    ) -> None:
        self._suite, self._assembler, self._gathering, self._observer = suite, assembler, gathering, observer
        self._selectors, self._ours, self._spent, self._timer = selectors, ours, spent, timer
        self._first_traces, self._lock = FirstTraces(), lock

    def ask(self, task: TraceTask) -> list[JudgedTrace]:
        """Judge the traces of a group; of those that are not due only what changes is returned."""
        judgeable: dict[str, list[NormalizedSpan]] = {}
        judged: list[JudgedTrace] = []
        for trace in task.group:
            spans = [span for span in trace.spans.values() if not self._ours(span.raw)]
            if spans:
                judgeable[trace.key[1]] = spans
            elif trace.spans:
                judged.append(self._filtered(trace, task.now))
            else:
                self._assembler.mark_judged(trace, TraceState.SETTLED, task.now, 0)
        members = {t.key[1]: t for t in task.group if t.key[1] in judgeable}
        runs = groups_of(judgeable) if len(judgeable) > 1 else [tuple(judgeable)] if judgeable else ()
        if len(task.group) > 1 and any(_has_moved(members[i], ids[0]) for ids in runs for i in ids):
            self._gathering.refresh(list(members.values()))
        ledgers = {i: dict(t.ledger or {}) for i, t in members.items()} if len(task.group) > 1 else {}
        for ids in runs:
            before = elsewhere(ledger for i, ledger in ledgers.items() if i != ids[0])
            judged += self._judge([members[i] for i in ids], [s for i in ids for s in judgeable[i]], task, before)
        return judged

    def _judge(
        self, members: Sequence[OpenTrace], spans: Sequence[NormalizedSpan], task: TraceTask, before: Elsewhere
    ) -> list[JudgedTrace]:
        """Judge one, or several as one under the id of the first; `before`: what stands of their runs elsewhere."""
        started = self._timer()
        first, now = members[0], task.now
        states = {t.key: self._assembler.state(t, now) for t in members}
        state = together(states.values())
        newest = max(t.received_through for t in members)
        contents = {t.key: t.content for t in members}
        arrivals = {t.key: t.arrivals for t in members}
        is_apart = _is_apart(members)
        why, result = "", None
        spent: Sequence[TraceSpend] = [TraceSpend()] * len(members)
        try:
            first.cache = first.cache or _Memory()
            with self._beside(members):
                rebuilt = first.cache.rebuilder.rebuild(spans, state=state)
                rebuilt = replace(rebuilt, trace_id=first.key[1], received_through=newest)
                result = self._suite.judge(rebuilt, first.cache.known)
                parts = _parts(rebuilt, members, states)
                spent = [self._spent(own) for own in parts]
        except Exception as error:  # one trace that cannot be judged must not stop the others
            first.cache = None  # what was kept may be half of two passes
            log.exception("trace %s cannot be judged", first.key[1])
            self._observer.failed_trace()
            rebuilt = unbuilt_trace(first, spans, state)
            parts = _parts(rebuilt, members, states)
            why = f"{type(error).__name__}: {error}"[:200]
        cost = self._timer() - started
        judged: list[JudgedTrace] = []
        if is_apart and self._assembler.get(first.key) is not first:  # it was deleted meanwhile
            return judged
        for trace, own, spent_of_it in zip(members, parts, spent, strict=True):
            content = input_hash(own.state, contents.values() if trace is first else [contents[trace.key]])
            if result is not None:
                one = self._done(trace, own, rebuilt, result, now, before, content, spent_of_it)
            else:
                one = self._failed(trace, own, why, now, content)
            self._assembler.mark_judged(trace, states[trace.key], now, cost, arrivals[trace.key])
            moved = _has_moved(trace, first.key[1])
            if trace.key in task.due or trace is first or moved or one.changed or one.retracted or one.ledger:
                self._observer.judged(one, cost)
                judged.append(one)
            trace.joined_to = own.joined_to
        self._first_traces.note(rebuilt)
        return judged

    def prepare(self, trace: OpenTrace) -> bool:
        """Normalise a trace that is due, a large one beside others; False: it was deleted meanwhile."""
        while not trace.is_read and self._assembler.get(trace.key) is trace:  # more may come beside it
            with self._beside([trace]):
                trace.read()
        return self._assembler.get(trace.key) is trace

    @contextmanager
    def apart(self, trace: OpenTrace) -> Iterator[None]:
        """Let other traces be judged beside a large one."""
        trace.is_apart = True
        try:
            with self._lock.left():
                yield
        finally:
            trace.is_apart = False
            self._assembler.schedule(trace)  # while it was apart it was passed over

    def _beside(self, members: Sequence[OpenTrace]) -> AbstractContextManager[None]:
        return self.apart(members[0]) if _is_apart(members) else nullcontext()

    def _done(
        self,
        trace: OpenTrace,
        own: Trace,
        whole: Trace,
        result: SuiteResult,
        now: int,
        before: Elsewhere,
        content: str,
        spent: TraceSpend,
    ) -> JudgedTrace:
        found = [f for f in result.findings if f.trace_id == own.trace_id]
        stored = self._gathering.reviewed(trace)
        change = compare(found, stored, standing(own.state), now)
        trace.stored = {**stored, **{f.id: f for f in (*change.findings, *change.retracted)}}
        judgement = self._judgement(
            own, now, Outcome.DONE, content, findings=change.findings, failures=result.failures, dropped=result.dropped
        )
        ledger: LedgerEntries = {} if trace.ledger is None else trace.ledger
        trace.ledger = ledger
        rows: list[Judgement] = []
        known_runs: set[str] = set()
        for selector in self._selectors:
            if own.joined_to:
                moved = _has_moved(trace, own.joined_to)
                rows += selector.withdraw(own, whole, ledger, moved=moved)
            else:
                selection = selector.select(own, result.findings, ledger, now, before)
                rows += selection.rows
                known_runs |= selection.known_runs
        return JudgedTrace(own, judgement, change.written, change.retracted, tuple(rows), frozenset(known_runs), spent)

    def _failed(self, trace: OpenTrace, own: Trace, why: str, now: int, content: str) -> JudgedTrace:
        """A judge's failure is not a verdict: what was found before stands."""
        standing = tuple(f for f in (trace.stored or {}).values() if f.state in LIVE)
        return JudgedTrace(
            own, self._judgement(own, now, Outcome.FAILED, content, findings=standing, failures=((DETECTORS, why),))
        )

    def _filtered(self, trace: OpenTrace, now: int) -> JudgedTrace:
        """A trace of our own judge calls is not judged."""
        state = self._assembler.state(trace, now)
        unbuilt = unbuilt_trace(trace, list(trace.spans.values()), state)
        self._assembler.mark_judged(trace, state, now, 0)
        content = input_hash(state, [trace.content])
        why = "calls of our own judges"
        return JudgedTrace(unbuilt, self._judgement(unbuilt, now, Outcome.FILTERED, content, reason=why))

    def _judgement(self, trace: Trace, now: int, outcome: Outcome, content: str, **said: Any) -> Judgement:
        return Judgement(
            subject=Subject(SubjectKind.TRACE, trace.trace_id, trace.trace_id, trace.tenant),
            judge=DETECTORS,
            version=self._suite.version,
            input_hash=content,
            judged_at=now,
            received_through=trace.received_through,
            outcome=outcome,
            probability=upstream(trace),
            **said,
        )


def _parts(rebuilt: Trace, members: Sequence[OpenTrace], states: Mapping[TraceKey, TraceState]) -> list[Trace]:
    """What is shown under the id of each: all of it under the first one's."""
    return [rebuilt, *(part(rebuilt, trace, states[trace.key]) for trace in members[1:])]


def _is_apart(members: Sequence[OpenTrace]) -> bool:
    return len(members) == 1 and members[0].is_large


def _has_moved(trace: OpenTrace, first: str) -> bool:
    """Whether a trace shows at another one, the `first` of its run, than when it was last judged, as far as we know."""
    return trace.joined_to != (first if first != trace.key[1] else "")
