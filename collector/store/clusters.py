"""What clusters of errors need beside the errors: sessions and calls of their traces, and names of types. It blocks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from tracejury.judges.clusters.clustering import StoredName

from .derived.base import BaseCall
from .inserting import store_rows
from .lists.latest import TRACES
from .scope import TENANT, TenantRows

_PAGE: Final = 1_000
"""Traces of one look-up."""

_FACTS: Final = (
    f"SELECT TraceId, JoinedTo, ServiceName, SessionId, Calls.SpanId, Calls.Tool, Calls.Asked "
    f"FROM {TRACES.newest('TraceId IN {trace_ids:Array(String)}')}"
)
_NAMES: Final = (
    "SELECT ErrorId, Name, toUnixTimestamp64Nano(ReceivedAt) FROM cluster_names FINAL "
    f"WHERE {TENANT} AND TraceId IN {{ids:Array(String)}}"
)
_KNOWN: Final = f"SELECT Id, TraceId FROM errors FINAL WHERE {TENANT} AND Id IN {{ids:Array(String)}} AND NOT Removed"


@dataclass(frozen=True, slots=True)
class TraceCalls:
    """The session of a trace, itself where it names none, and the tools by span."""

    session: tuple[str, str]
    calls: dict[str, list[BaseCall]]


class StoredClusters(TenantRows):
    """The rows of one tenant. Methods raise RetryableError for what may pass, StoreError for the rest."""

    def traces(self, trace_ids: Collection[str]) -> dict[str, TraceCalls]:
        """By trace id; absent: it is not stored."""
        found: dict[str, TraceCalls] = {}
        for page in _pages(trace_ids):
            for trace_id, joined, service, session, spans, tools, asked in self._scope.select(_FACTS, trace_ids=page):
                calls: defaultdict[str, list[BaseCall]] = defaultdict(list)
                for span_id, tool, only_asked in zip(spans, tools, asked, strict=True):
                    calls[span_id].append(BaseCall(tool, only_asked))
                found[trace_id] = TraceCalls((service, session) if session else ("", joined or trace_id), calls)
        return found

    def names(self, trace_ids: Collection[str]) -> dict[str, StoredName]:
        """The names that errors of these traces have, by the error's id."""
        return {
            error_id: StoredName(name, at)
            for page in _pages(trace_ids)
            for error_id, name, at in self._scope.select(_NAMES, ids=page)
        }

    def save_name(self, name: str, error_ids: Collection[str], at: int) -> Sequence[str]:
        """Give these errors the name, as of `at` (unix nanos); the trace of each of them that there is."""
        known = [row for page in _pages(error_ids) for row in self._scope.select(_KNOWN, ids=page)]
        rows = [(self._scope.tenant, trace_id, error_id, name, at) for error_id, trace_id in known]
        columns = ("tenant", "TraceId", "ErrorId", "Name", "ReceivedAt")
        store_rows(self._store, "names of clusters", "cluster_names", columns, rows)
        return [trace_id for _, trace_id in known]


def _pages(ids: Collection[str]) -> Sequence[Sequence[str]]:
    ordered = sorted(set(ids))
    return [ordered[at : at + _PAGE] for at in range(0, len(ordered), _PAGE)]
