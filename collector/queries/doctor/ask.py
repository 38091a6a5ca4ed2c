"""Which traces of the store are examined for a question. All of it blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.processors.doctor import Diagnosis, ExternalRun, diagnose
from tracejury.schemas.errors import NotFoundError
from tracejury.schemas.queries.reader import Confidence, Position, TraceQuery, TraceRow
from tracejury.schemas.trajectory import Trace

DAY: Final = 86_400 * 1_000_000_000
MOST_TRACES: Final = 100
"""Latest traces that a service is examined by."""
MOST_SPANS: Final = 20_000
"""Spans after which no further trace is read."""
FEW_TRACES: Final = 10
"""The same, where all services are looked over."""
MOST_SERVICES: Final = 100
NEIGHBOURS: Final = 500
"""Traces that came at about the same time, looked through for sub-agents that nothing links."""
_AROUND: Final = 900 * 1_000_000_000
"""Nanoseconds after the last span within which the trace of a sub-agent arrives."""


def of_trace(reader: StoredReader, trace_id: str) -> Diagnosis:
    """The diagnosis of one trace.

    Raises:
        NotFoundError: there is no such trace.
    """
    trace = reader.trace_queries.trace(trace_id)
    if trace is None:
        raise NotFoundError(f"no trace {trace_id[:64]!r} is stored")
    return diagnose([trace], _elsewhere(reader, [trace]))


def of_service(reader: StoredReader, service: str) -> Diagnosis:
    """The diagnosis of a service by its latest traces.

    Raises:
        NotFoundError: none is stored.
    """
    rows = reader.traces(TraceQuery(Confidence.of(""), MOST_TRACES, service=service))
    traces = list(_read(reader, rows))
    if not traces:
        raise NotFoundError(f"no trace of a service {service[:64]!r} is stored")
    return diagnose(traces, _elsewhere(reader, traces))


def of_all(reader: StoredReader, now: int) -> list[Diagnosis]:
    """One diagnosis a service that sent something in the day before `now` (unix nanos), the latest first."""
    found = (glance(reader, service, now - DAY) for service in reader.services(now - DAY, MOST_SERVICES))
    return [diagnosis for diagnosis in found if diagnosis]


def glance(reader: StoredReader, service: str, since: int) -> Diagnosis | None:
    """A service by a few traces that arrived from `since` (unix nanos) on, the latest; None where there are none."""
    rows = reader.traces(TraceQuery(Confidence.of(""), FEW_TRACES, service=service, since=since))
    # An empty name filters nothing.
    traces = list(_read(reader, [row for row in rows if service or not row.service]))
    return diagnose(traces, _elsewhere(reader, traces)) if traces else None


def _read(reader: StoredReader, rows: Iterable[TraceRow]) -> Iterator[Trace]:
    spans = 0
    read: set[str] = set()
    for row in rows:
        if row.trace_id in read:  # joined to one that was read
            continue
        spans += row.spans
        if spans > MOST_SPANS and spans > row.spans:
            return
        trace = reader.trace_queries.trace(row.trace_id)  # what was found in it is of no use here
        if trace is not None:
            read.update(trace.trace_ids)
            yield trace


def _elsewhere(reader: StoredReader, traces: Sequence[Trace]) -> list[ExternalRun]:
    """Traces that arrived while these ran, or soon after."""
    start = min(t.start for t in traces)
    last = max(t.received_through for t in traces)
    query = TraceQuery(Confidence.of(""), NEIGHBOURS, since=max(0, start - _AROUND), before=Position(last + _AROUND))
    own = {i for t in traces for i in t.trace_ids}
    return [
        ExternalRun(row.trace_id, row.service, row.agents[0], row.start, row.end)
        for row in reader.traces(query)
        if row.agents and row.trace_id not in own
    ]
