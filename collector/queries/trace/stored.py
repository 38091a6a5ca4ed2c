"""Traces for their pages from the store: in outline where one is kept, else rebuilt, the latest ones from memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from tracejury.collector.store import ledger
from tracejury.collector.store.errors import StoredErrors
from tracejury.collector.store.joins import StoredJoins
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.lists import SessionLists
from tracejury.collector.store.outlines import StoredOutlines
from tracejury.collector.store.reading import StoredReading
from tracejury.collector.store.scope import TENANT, Scope
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.store.stored_rows import select_logs, select_spans
from tracejury.collector.store.stored_trace import stored_trace, stored_traces
from tracejury.processors.assemble import AssemblerConfig
from tracejury.processors.trace_outline import RunOutline, TraceOutline, is_large, outline_of
from tracejury.schemas.agent_errors import in_place, whole_error
from tracejury.schemas.findings import LIVE
from tracejury.schemas.llm_rows import LedgerRow
from tracejury.schemas.queries.reader import Confidence
from tracejury.schemas.rows import LOG_SELECT, SPAN_SELECT
from tracejury.schemas.spans import LogRecord, Span
from tracejury.schemas.trajectory import AgentRun, Trace, TraceState
from tracejury.schemas.verdicts import DETECTORS

from .assessment import TraceAssessment
from .outlines import TraceOutlines
from .recent import RebuiltTrace, RecentTraces
from .stored_part import stored_part, with_turns_of
from .trace_index import TraceIndex

_LOCKS: Final = 16

_ONE: Final = f"{TENANT} AND TraceId = {{trace_id:String}} AND SpanId = {{span_id:String}}"


class StoredTraceQueries:
    """Trace queries about one tenant; `clock` gives unix nanos."""

    def __init__(
        self,
        store: SharedStore,
        config: AssemblerConfig,
        clock: Callable[[], int],
        recent: RecentTraces | None = None,
        tenant: str = "",
    ) -> None:
        self._store, self._config, self._clock, self._tenant = store, config, clock, tenant
        self._scope, self._reading = Scope(store, tenant), StoredReading(store, tenant)
        self._recent, self._outlines = recent or RecentTraces(), TraceOutlines(store, tenant)
        self._locks = [threading.Lock() for _ in range(_LOCKS)]

    def trace_index(self, trace_id: str) -> TraceIndex | None:
        """From memory, else of the kept outline where nothing came since, else of the rebuilt trace.

        A large one that is open shows as it was last judged, a huge one before that its first spans: rebuilding takes
        longer than judging.
        """
        newest = self._newest(trace_id)
        if not newest:
            return None
        known = self._known(trace_id, newest)
        if known is None and (found := self._outlines.find(trace_id, newest)) is not None:
            return found
        made = known or self._rebuilt(trace_id)
        return made.trace_index if made else None

    def trace(self, trace_id: str) -> Trace | None:
        """From memory where nothing came since, or a large one is open; else rebuilt."""
        newest = self._newest(trace_id)
        if not newest:
            return None
        made = self._known(trace_id, newest) or self._rebuilt(trace_id)
        return made.trace if made else None

    def traces(self, trace_ids: Sequence[str]) -> dict[str, Trace]:
        """Several closed ones at once, by id, each with those that it is one with; kept nowhere."""
        parts = SessionLists(self._store, self._tenant).parts(trace_ids) | {one: one for one in trace_ids}
        return stored_traces(StoredJudging(self._store, self._tenant), parts, self._config.max_spans_per_trace)

    def count_spans(self, trace_id: str) -> int:
        """Stored ones, of those that it is joined with too."""
        return self._outlines.count_spans(self._joined(trace_id))

    def part(self, trace_index: TraceIndex, key: str) -> Trace | None:
        """From memory, else of the spans of its run alone, else the whole trace."""
        outline = trace_index.outline
        if (known := self._in_memory(outline)) is not None:
            return known
        if not outline.large:
            return self.trace(outline.trace_id)
        run, span_id = trace_index.place(key)
        return self._part(outline, [run] if run else [], span_id)

    def runs(self, outline: TraceOutline, wanted: Sequence[RunOutline]) -> Sequence[AgentRun]:
        """From memory, else of their own spans where these show them as the outline does, else of the whole trace."""
        made = self._in_memory(outline) or self._part(outline, wanted)
        runs = {run.id: run for run in made.runs} if made else {}
        return [with_turns_of(runs[run.id], run) for run in wanted if run.id in runs]

    def _part(self, outline: TraceOutline, wanted: Sequence[RunOutline], span_id: str = "") -> Trace | None:
        found = stored_part(StoredJudging(self._store, self._tenant), outline, wanted, {span_id} - {""})
        return found or self.trace(outline.trace_id)

    def loads_at_once(self, outline: TraceOutline) -> bool:
        """In memory, or small enough to be rebuilt at once."""
        return not outline.large or self._in_memory(outline) is not None

    def assessment(self, outline: TraceOutline, confidence: Confidence) -> TraceAssessment:
        """Four look-ups."""
        ids = outline.trace_ids
        least = confidence.least(outline.conventions)
        found = self._reading.load_findings(ids)
        verdicts = self._reading.load_verdicts(ids)
        sql = f"SELECT sum(Cost) FROM traces FINAL WHERE {TENANT} AND TraceId IN {{trace_ids:Array(String)}}"
        rows = self._scope.select(sql, trace_ids=list(ids))
        standing = [f for i in ids for f in found.get(i, ()) if f.state in LIVE]
        said = [v for i in ids for v in verdicts.get(i, ())]
        by_id = {finding.id: finding for finding in standing}
        told = [one for own in StoredErrors(self._store, self._tenant).under(ids).values() for one in own]
        whole = (whole_error(one, by_id) for one in in_place(told, (run.id for run in outline.runs)))
        errors = [error for error in whole if error is not None]
        return TraceAssessment.of(errors, standing, least, said, rows[0][0] if rows else None)

    def ledger_rows(self, outline: TraceOutline) -> Sequence[LedgerRow]:
        """Of LLM judges."""
        found = ledger.outcomes(self._store, list(outline.trace_ids), self._tenant)
        return [word for words in found.values() for word in words.values() if word.judge != DETECTORS]

    def raw_span(self, trace_id: str, span_id: str) -> tuple[Span, Sequence[LogRecord]] | None:
        """Two look-ups by id."""
        one = {"trace_id": trace_id, "span_id": span_id}
        spans = select_spans(self._scope, f"SELECT {SPAN_SELECT} FROM spans FINAL WHERE {_ONE}", **one)
        if not spans:
            return None
        sql = f"SELECT {LOG_SELECT} FROM logs FINAL WHERE {_ONE} ORDER BY Nanos, ObservedNanos"
        return spans[0], select_logs(self._scope, sql, **one)

    def trace_ids_of_span(self, span_id: str) -> Sequence[str]:
        """One look-up by id."""
        return self._reading.span_trace_ids(span_id)

    def cache_judged(self, trace: Trace) -> None:
        """Keep it where pages have asked for it, or would have to wait for it; of a large open one its outline."""
        if large := is_large(trace):
            self._outlines.drop(trace.trace_id)
            if trace.state is TraceState.OPEN:
                self._outlines.put(trace.trace_id, TraceIndex(outline_of(trace)))
        if large or self._recent.get(trace.trace_id) is not None:
            self._recent.put(trace)

    def forget(self, trace_id: str) -> None:
        """Read it again: another process has judged it."""
        self._outlines.drop(trace_id)
        self._recent.drop(trace_id)

    def _in_memory(self, outline: TraceOutline) -> Trace | None:
        """The trace as it is shown or later, whatever has arrived since."""
        known = self._recent.get(outline.trace_id)
        if known and known.trace.received_through >= outline.received_through and self._outlines.stays(known.trace):
            return known.trace
        return None

    def _newest(self, trace_id: str) -> Mapping[str, int]:
        """Of the trace and those that it may be one with; empty where there is no such trace."""
        newest = StoredOutlines(self._store, self._tenant).newest(sorted(self._joined(trace_id)))
        return newest if trace_id in newest else {}

    def _joined(self, trace_id: str) -> frozenset[str]:
        return StoredJoins(self._store, self._tenant).with_partners(trace_id)

    def _known(self, trace_id: str, newest: Mapping[str, int]) -> RebuiltTrace | None:
        found = self._recent.get(trace_id)
        if found is None:
            return None
        trace = found.trace
        grows = trace.state is TraceState.OPEN and found.is_large and self._outlines.stays(trace)
        return found if grows or max(newest.values()) <= trace.received_through else None

    def _rebuilt(self, trace_id: str) -> RebuiltTrace | None:
        with self._locks[hash(trace_id) % _LOCKS]:
            known = self._known(trace_id, self._newest(trace_id))  # another request may have been first
            if known is not None:
                return known
            judging = StoredJudging(self._store, self._tenant)
            trace = stored_trace(judging, trace_id, self._tenant, self._config, self._clock())
            if trace is None:
                return None
            self._recent.ask(trace.trace_id)
            # An open trace settles without a row arriving: only who is told of every judging may keep it.
            return self._recent.put(trace) if trace.state is not TraceState.OPEN else RebuiltTrace(trace, 0)
