"""Trace queries as after a restart: nothing of what was rebuilt is in memory any more."""

from tracejury.collector.queries.trace.outlines import TraceOutlines
from tracejury.collector.queries.trace.recent import RecentTraces
from tracejury.collector.queries.trace.stored import StoredTraceQueries


def forget_traces(queries: StoredTraceQueries) -> None:
    """Drop all rebuilt traces and outlines."""
    queries._recent = RecentTraces()
    queries._outlines = TraceOutlines(queries._store, queries._tenant)
