"""Rows out of the store, a trace at a time: what is held does not grow with what is exported. All of it blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..labels import Labelled
from ..reader import ErrorQuery, Position, Reader, Sighting, TraceQuery, TraceView
from ..shapes_dataset import FindingRow, RunRow, TrailRow
from .rows import TraceRows, trail_row

FINDINGS = 1000
"""Findings that are held at once: of each trace among them the spans are read once."""
TRACES = 200
"""Traces of a list that are held at once."""


@dataclass(frozen=True, slots=True)
class Exporter:
    """Reads what is to be exported; each method yields rows, `limit` of them (0: all)."""

    reader: Reader
    transcripts: bool = True

    def findings(self, query: ErrorQuery, limit: int) -> Iterator[FindingRow]:
        """Findings, latest first, those of one trace together within a page; `query.limit` is not looked at.

        What is found while it runs is not among them.
        """
        for page in self._pages(query, limit):
            by_trace: dict[str, list[Sighting]] = {}
            for sighting in page:
                by_trace.setdefault(sighting.finding.trace_id, []).append(sighting)
            for trace_id, sightings in by_trace.items():
                view = self.reader.trace(trace_id, query.confidence, query.tenant)
                if view is None:  # expired meanwhile
                    continue
                rows = self._rows(view, query.tenant)
                for sighting in sorted(sightings, key=lambda s: s.finding.agent_run_id):
                    yield rows.finding(sighting)

    def runs(self, query: TraceQuery, limit: int, trace_id: str = "") -> Iterator[RunRow]:
        """Agent runs, those of the latest traces first."""
        left = limit or -1
        for view in self._traces(query, trace_id):
            for row in self._rows(view, query.tenant).runs(query.agent):
                yield row
                left -= 1
                if left == 0:
                    return

    def trail(self, query: TraceQuery, limit: int, trace_id: str = "") -> Iterator[TrailRow]:
        """What was found in each trace, in TRAIL's layout, traces without an error included."""
        for number, view in enumerate(self._traces(query, trace_id), 1):
            yield trail_row(view.trace, view.findings)
            if number == limit:
                return

    def _rows(self, view: TraceView, tenant: str) -> TraceRows:
        ids = view.trace.trace_ids
        told = self.reader.labels.of_traces(ids, tenant)
        every = [told[i] for i in ids if i in told]
        labelled = Labelled(
            [a for one in every for a in one.annotations],
            [s for one in every for s in one.scores],
            [r for one in every for r in one.reviews],
        )
        return TraceRows(view, labelled, transcripts=self.transcripts)

    def _pages(self, query: ErrorQuery, limit: int) -> Iterator[list[Sighting]]:
        left = limit
        while True:
            size = min(FINDINGS, left) if limit else FINDINGS
            page = list(self.reader.errors(replace(query, limit=size)))
            if page:
                yield page
            left -= len(page)
            if len(page) < size or (limit and left <= 0):
                return
            last = page[-1].finding
            query = replace(query, before=Position(last.first_seen, last.id))

    def _traces(self, query: TraceQuery, trace_id: str) -> Iterator[TraceView]:
        for one in [trace_id] if trace_id else self._ids(query):
            view = self.reader.trace(one, query.confidence, query.tenant)
            if view is not None:
                yield view

    def _ids(self, query: TraceQuery) -> Iterator[str]:
        while True:
            page = self.reader.traces(replace(query, limit=TRACES))
            yield from (row.trace_id for row in page)
            if len(page) < TRACES:
                return
            query = replace(query, before=Position(page[-1].received, page[-1].trace_id))
