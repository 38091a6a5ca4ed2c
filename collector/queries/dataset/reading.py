"""Rows out of the store, a trace at a time: what is held does not grow with what is exported. All of it blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.collector.store.scores import SHOWN
from tracejury.schemas.queries.labels import Labelled
from tracejury.schemas.queries.reader import (
    Confidence,
    ErrorQuery,
    LocatedError,
    LocatedFinding,
    Position,
    TraceQuery,
    TraceView,
)
from tracejury.schemas.wire.dataset import ErrorRow, FindingRow, RunRow, TrailRow

from .rows import TraceRows, trail_row

FINDINGS = 1000
"""Findings, or errors, that are held at once: of each trace among them the spans are read once."""
TRACES = 200
"""Traces of a list that are held at once."""
Located = TypeVar("Located", LocatedFinding, LocatedError)


@dataclass(frozen=True, slots=True)
class Exporter:
    """Reads what is to be exported; each method yields rows, `limit` of them (0: all)."""

    reader: StoredReader
    transcripts: bool = True

    def findings(self, query: ErrorQuery, limit: int) -> Iterator[FindingRow]:
        """Findings, latest first, those of one trace together within a page; `query.limit` is not looked at.

        What is found while it runs is not among them.
        """
        for page in _pages(self.reader.findings, query, limit):
            for rows, found in self._by_trace(page, lambda one: one.finding.trace_id, query):
                for located in sorted(found, key=lambda one: one.finding.agent_run_id):
                    yield rows.finding(located)

    def errors(self, query: ErrorQuery, limit: int) -> Iterator[ErrorRow]:
        """Errors, as findings."""
        for page in _pages(self.reader.errors, query, limit):
            for rows, found in self._by_trace(page, lambda one: one.whole, query):
                for located in sorted(found, key=lambda one: one.error.agent_run_id):
                    yield rows.error(located)

    def runs(self, query: TraceQuery, limit: int, trace_id: str = "") -> Iterator[RunRow]:
        """Agent runs, those of the latest traces first."""
        left = limit or -1
        for view, told in self._traces(query, trace_id):
            given = self.reader.scores.of_traces(view.trace.trace_ids, SHOWN).shown
            for row in TraceRows(view, told, given, transcripts=self.transcripts).runs(query.agent):
                yield row
                left -= 1
                if left == 0:
                    return

    def trail(self, query: TraceQuery, limit: int, trace_id: str = "") -> Iterator[TrailRow]:
        """The findings of each trace in TRAIL's layout, traces without an error included."""
        for number, (view, _) in enumerate(self._traces(query, trace_id), 1):
            yield trail_row(view.trace, view.findings)
            if number == limit:
                return

    def _views(self, trace_ids: Sequence[str], confidence: Confidence) -> Iterator[tuple[str, TraceView, Labelled]]:
        """The id that was asked for, the trace and what people say of it; not those that expired meanwhile."""
        told = dict(self.reader.labels.of_traces(trace_ids))
        for trace_id in trace_ids:
            view = self.reader.trace(trace_id, confidence)
            if view is None:
                continue
            ids = view.trace.trace_ids
            others = [i for i in ids if i not in told and i not in trace_ids]  # it is joined with them
            every = told | (dict(self.reader.labels.of_traces(others)) if others else {})
            yield trace_id, view, Labelled.of(label for i in ids if i in every for label in every[i])

    def _by_trace(
        self, page: Sequence[Located], trace_of: Callable[[Located], str], query: ErrorQuery
    ) -> Iterator[tuple[TraceRows, list[Located]]]:
        by_trace: dict[str, list[Located]] = {}
        for located in page:
            by_trace.setdefault(trace_of(located), []).append(located)
        for trace_id, view, told in self._views(list(by_trace), query.confidence):
            yield TraceRows(view, told, transcripts=self.transcripts), by_trace[trace_id]

    def _traces(self, query: TraceQuery, trace_id: str) -> Iterator[tuple[TraceView, Labelled]]:
        for page in [[trace_id]] if trace_id else self._ids(query):
            for _, view, told in self._views(page, query.confidence):
                yield view, told

    def _ids(self, query: TraceQuery) -> Iterator[list[str]]:
        while True:
            page = self.reader.traces(replace(query, limit=TRACES))
            yield [row.trace_id for row in page]
            if len(page) < TRACES:
                return
            query = replace(query, before=Position(page[-1].received, page[-1].order_id))


def _pages(
    find: Callable[[ErrorQuery], Sequence[Located]], query: ErrorQuery, limit: int
) -> Iterator[Sequence[Located]]:
    left = limit
    while True:
        size = min(FINDINGS, left) if limit else FINDINGS
        page = find(replace(query, limit=size))
        if page:
            yield page
        left -= len(page)
        if len(page) < size or (limit and left <= 0):
            return
        query = replace(query, before=page[-1].position)
