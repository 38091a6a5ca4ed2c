"""The detectors as a judge of traces, each with the traces that are one with it."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from tracejury.collector.judging.ledger import elsewhere
from tracejury.collector.judging.pipeline import Elsewhere, Selector, compare
from tracejury.collector.worker.step_lock import StepLock
from tracejury.judges.runaways import UsualRuns
from tracejury.judges.suite import Suite, SuiteResult
from tracejury.judges.withdrawn import why_withdrawn
from tracejury.processors.assemble import Assembler, TraceKey
from tracejury.processors.joining import groups_of, together
from tracejury.processors.life_cycle import state_at
from tracejury.processors.open_trace import OpenTrace, note_parents_elsewhere
from tracejury.processors.rebuild import rebuild
from tracejury.processors.trace_rows import span_size
from tracejury.schemas.findings import LIVE, FindingState
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.sampling import upstream_probability
from tracejury.schemas.spans import Span
from tracejury.schemas.trajectory import Trace, TraceState
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
from .metrics import JudgingMetrics

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TraceJudge:
    """Judges traces with a suite of detectors, and has `selectors` choose what other judges look at.

    `ours` tells the spans of our own judge calls, which nobody judges; `spent` says what a trace's agents spent,
    `usual` what their runs usually use;
    `timer` gives nanos of CPU time of its thread. `lock` is held by whoever calls, and left while a large trace is
    judged.
    """

    suite: Suite
    assembler: Assembler
    gathering: Gathering
    metrics: JudgingMetrics
    lock: StepLock
    timer: Callable[[], int]
    selectors: Sequence[Selector]
    ours: Callable[[Span], bool]
    spent: Callable[[Trace], TraceSpend]
    usual: Callable[[Trace], UsualRuns]
    first_traces: FirstTraces = field(default_factory=FirstTraces)

    def judge(self, group: Sequence[OpenTrace], due: Collection[TraceKey], now: int) -> list[JudgedTrace]:
        """Judge traces that may be one at `now` (unix nanos); of those not `due` only what is new is returned."""
        judgeable: dict[str, list[NormalizedSpan]] = {}
        judged: list[JudgedTrace] = []
        note_parents_elsewhere(group)
        for trace in group:
            spans = [span for span in trace.spans.values() if not self.ours(span.raw)]
            if spans:
                judgeable[trace.key[1]] = spans
                continue
            state = self._state(trace, now) if trace.spans else TraceState.SETTLED
            if trace.spans:  # calls of our own judges are not judged
                unbuilt = unbuilt_trace(trace, trace.spans.values(), state)
                content, why = input_hash(state, [content_of(trace.spans.values())]), "calls of our own judges"
                at = self.gathering.store.judged_at([trace.key], now)
                judgement = self._judgement(unbuilt, at, Outcome.FILTERED, content, reason=why)
                judged.append(JudgedTrace(unbuilt, judgement))
            trace.note_judged(state, now, 0, trace.arrivals)
        members = {t.key[1]: t for t in group if t.key[1] in judgeable}
        runs = groups_of(judgeable) if len(judgeable) > 1 else [tuple(judgeable)] if judgeable else ()
        ledgers: Mapping[str, LedgerEntries] = {}
        if len(group) > 1:
            if any(_has_moved(members[i], ids[0]) for ids in runs for i in ids):
                self.gathering.refresh(list(members.values()))
            ledgers = {i: dict(t.ledger or {}) for i, t in members.items()}
        for ids in runs:
            before = elsewhere(ledger for i, ledger in ledgers.items() if i != ids[0])
            spans = [s for i in ids for s in judgeable[i]]
            is_apart = len(group) == 1 and group[0].is_large
            judged += self._judge([members[i] for i in ids], spans, due, now, before, is_apart=is_apart)
        return judged

    def _judge(
        self,
        members: Sequence[OpenTrace],
        spans: Sequence[NormalizedSpan],
        due: Collection[TraceKey],
        now: int,
        before: Elsewhere,
        *,
        is_apart: bool,
    ) -> list[JudgedTrace]:
        """Judge one, or several as one under the id of the first; `before`: what stands of their runs elsewhere.

        `is_apart`: others are judged meanwhile.
        """
        started, at = self.timer(), self.gathering.store.judged_at([t.key for t in members], now)
        first, states = members[0], [self._state(t, now) for t in members]
        arrivals, known = [t.arrivals for t in members], [list(t.spans.values()) for t in members]
        newest, elsewhere = (
            max(t.received_through for t in members),
            frozenset[str]().union(*(t.elsewhere for t in members)),
        )
        result, spent, why = None, [TraceSpend(operations=None)] * len(members), ""
        with self.lock.left() if is_apart else nullcontext():
            contents = list(map(content_of, known))
            try:
                first.memo = {} if first.memo is None else first.memo
                rebuilt = rebuild(spans, state=together(states), known=first.memo, elsewhere=elsewhere)
                whole = replace(rebuilt, trace_id=first.key[1], received_through=newest)
                result = self.suite.judge(whole, first.memo, self.usual(whole))
                parts = _parts(whole, members, states)
                spent = [self.spent(own) for own in parts]
            except Exception as error:  # one trace that cannot be judged must not stop the others
                first.memo = None  # what was kept may be half of two passes
                log.exception("trace %s cannot be judged", first.key[1])
                self.metrics.failed_trace()
                result, why = None, f"{type(error).__name__}: {error}"[:200]
                whole = unbuilt_trace(first, spans, together(states))
                parts = _parts(whole, members, states)
        cost = self.timer() - started
        if is_apart and not self.assembler.is_open(first):  # it was deleted meanwhile
            return []
        judged: list[JudgedTrace] = []
        of_each = zip(members, parts, states, contents, arrivals, spent, strict=True)
        for trace, own, state, own_content, arrived, its_spent in of_each:
            content = input_hash(own.state, contents if trace is first else [own_content])
            if result is not None:
                one = self._done(trace, own, whole, result, at, before, content, its_spent)
            else:  # a judge's failure is not a verdict: what was found before stands
                standing = tuple(f for f in (trace.stored or {}).values() if f.state in LIVE)
                failed = {"findings": standing, "failures": ((DETECTORS, why),)}
                one = JudgedTrace(own, self._judgement(own, at, Outcome.FAILED, content, **failed))
            # It is as good as judged by itself then: if it is closed now, it will not be.
            is_new = self.assembler.is_open(trace) and (trace.state, trace.judged_arrivals) != (state, arrived)
            trace.note_judged(state, now, cost, arrived)
            if trace.collisions:
                words = "trace %s: %d spans came under the id of another one, and one an id is kept"
                log.warning(words, trace.key[1], trace.collisions)
                self.metrics.collided(trace.collisions)
                trace.collisions = 0
            moved = _has_moved(trace, first.key[1])
            if trace.key in due or trace is first or is_new or moved or one.changed or one.retracted or one.ledger:
                self.metrics.judged(one, cost)
                judged.append(one)
            trace.joined_to = own.joined_to
        self.first_traces.note(whole)
        return judged

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
        stored = self.gathering.reviewed(trace)
        change = compare(
            found,
            stored,
            standing(own.state),
            now,
            withdrawn=lambda gone: why_withdrawn(gone, result.findings, whole, trace.last_judged),
        )
        trace.stored = {**stored, **{f.id: f for f in (*change.findings, *change.retracted)}}
        judgement = self._judgement(
            own, now, Outcome.DONE, content, findings=change.findings, failures=result.failures, dropped=result.dropped
        )
        ledger: LedgerEntries = {} if trace.ledger is None else trace.ledger
        trace.ledger = ledger
        rows: list[Judgement] = []
        known_runs: set[str] = set()
        for selector in self.selectors:
            if own.joined_to:
                moved = _has_moved(trace, own.joined_to)
                rows += selector.withdraw(own, whole, ledger, moved=moved)
            else:
                selection = selector.select(own, result.findings, ledger, now, before)
                rows += selection.rows
                known_runs |= selection.known_runs
        return JudgedTrace(
            own,
            judgement,
            change.written,
            change.retracted,
            tuple(rows),
            frozenset(known_runs),
            spent,
            is_alone=not ledger and not rows and own.trace_ids == (own.trace_id,) and not own.joined_to,
            is_new=trace.is_whole and not trace.last_judged,
        )

    def _state(self, trace: OpenTrace, now: int) -> TraceState:
        return state_at(trace, now, self.assembler.config, self.assembler.held_bytes)

    def _judgement(self, trace: Trace, now: int, outcome: Outcome, content: str, **said: Any) -> Judgement:
        # An upstream sampler's probability is that of the first span, since a trace's root decides.
        first = next(iter(trace.spans.values()), None)
        return Judgement(
            subject=Subject(SubjectKind.TRACE, trace.trace_id, trace.trace_id, trace.tenant),
            judge=DETECTORS,
            version=self.suite.version,
            input_hash=content,
            judged_at=now,
            received_through=trace.received_through,
            outcome=outcome,
            probability=upstream_probability(first.raw.trace_state) if first else 1.0,
            **said,
        )


def standing(state: TraceState) -> FindingState:
    """How a detector's finding stands in a trace of that state."""
    return FindingState.PROVISIONAL if state is TraceState.OPEN else FindingState.CURRENT


def content_of(spans: Iterable[NormalizedSpan]) -> int:
    """A number of 128 bits that tells a trace's content: the sum of hashes of each span's end, status and sizes."""
    content = 0
    for one in spans:
        span = one.raw
        text = f"{span.span_id} {span.end} {span.pending} {span.status_code} {span_size(span)} {len(one.log_text)}"
        content += int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest())
    return content % (1 << 128)


def input_hash(state: TraceState, contents: Iterable[int]) -> str:
    """Hash of a trace's state and of the contents of all traces that it was rebuilt from (32 hex digits)."""
    return hashlib.blake2b(f"{state} {sum(contents)}".encode(), digest_size=16).hexdigest()


def unbuilt_trace(trace: OpenTrace, spans: Iterable[NormalizedSpan], state: TraceState) -> Trace:
    """A trace that could not be rebuilt: all its spans are in the remainder."""
    ordered = sorted(spans, key=lambda s: (s.raw.start, s.span_id))
    return Trace(
        trace_id=trace.key[1],
        tenant=trace.key[0],
        service=ordered[0].raw.service,
        session_id="",
        state=state,
        runs=(),
        spans={s.span_id: s for s in ordered},
        remainder=tuple(ordered),
        start=ordered[0].raw.start,
        end=max(s.raw.end for s in ordered),
        received_through=trace.received_through,
    )


def _parts(whole: Trace, members: Sequence[OpenTrace], states: Sequence[TraceState]) -> list[Trace]:
    """What is shown under the id of each: all under the first one's, else the runs of all and its own spans."""
    parts = [whole]
    for trace, state in zip(members[1:], states[1:], strict=True):
        own = {i: span for i, span in whole.spans.items() if span.raw.trace_id == trace.key[1]}
        parts.append(
            replace(
                whole,
                trace_id=trace.key[1],
                state=state,
                spans=own,
                remainder=tuple(span for span in whole.remainder if span.span_id in own),
                start=min((s.raw.start for s in own.values()), default=whole.start),
                end=max((s.raw.end for s in own.values()), default=whole.end),
                received_through=trace.received_through,
                joined_to=whole.trace_id,
            )
        )
    return parts


def _has_moved(trace: OpenTrace, first: str) -> bool:
    """Whether a trace shows at another one, the `first` of its run, than when it was last judged, as far as we know."""
    return trace.joined_to != (first if first != trace.key[1] else "")
