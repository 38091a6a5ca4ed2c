"""Clusters of errors, computed for each question: alike ones together, with the names that models gave their types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any, Final

from tracejury.collector.store.clusters import StoredClusters, TraceCalls
from tracejury.collector.store.derived.fold import tool_of
from tracejury.collector.store.errors import StoredErrors
from tracejury.collector.store.scope import Scope
from tracejury.judges.clusters.clustering import MOST_NAMED, StoredName, cluster_units, clustered
from tracejury.judges.clusters.count_ratio import count_ratio
from tracejury.judges.clusters.error_group import MOST_TEXTS, ClusteredError, ErrorGroup, error_text
from tracejury.schemas.agent_errors import ErrorSummary
from tracejury.schemas.queries.reader import ErrorQuery, Position
from tracejury.schemas.rates import Estimate
from tracejury.schemas.trajectory import Trace

SAMPLE: Final = 10_000
"""Errors that one question compares at most."""

_SPANS: Final = 10
"""Errors of a cluster that are named."""

_TOOLS: Final = 20
"""Tools whose parameters are looked for."""


@dataclass(frozen=True, slots=True)
class ErrorCluster:
    """A cluster. `errors`: from `since` on, and `before` in the time before, both scaled to all errors.

    `sessions`: of the errors from `since` on that were compared; `change`: of the counts; `spans`: some of its errors.
    """

    group: ErrorGroup
    errors: int
    before: int
    sessions: int
    share: float
    change: Estimate | None
    spans: Sequence[ErrorSummary]


@dataclass(frozen=True, slots=True)
class ClusterAnswer:
    """Clusters of the errors in [`since`, `until`), the largest first. `errors`, `single`: scaled to all errors.

    `sampled`: how many were compared, None for all. `by_text`: whether texts were compared, or categories alone.
    """

    since: int
    until: int
    errors: int
    single: int
    sampled: int | None
    by_text: bool
    clusters: Sequence[ErrorCluster]


@dataclass(frozen=True, slots=True)
class _Compared:
    """Errors that are compared, with what is stored beside them."""

    summaries: Mapping[str, ErrorSummary]
    errors: Sequence[ClusteredError]
    traces: Mapping[str, TraceCalls]
    names: Mapping[str, StoredName]
    total: int


class ErrorClusters:
    """Clusters of one tenant. Every method blocks.

    `trace`: rebuilds one; `derive`: derives the errors of traces again, whose patterns follow from names; `clock` gives
    unix nanos.
    """

    def __init__(
        self,
        scope: Scope,
        trace: Callable[[str], Trace | None],
        derive: Callable[[Sequence[str]], None],
        clock: Callable[[], int],
    ) -> None:
        self._errors = StoredErrors(scope.store, scope.tenant)
        self._stored = StoredClusters(scope.store, scope.tenant)
        self._trace, self._derive, self._clock = trace, derive, clock

    def ask(self, query: ErrorQuery, until: int) -> ClusterAnswer:
        """The clusters of the errors in [`query.since`, `until`), beside the time of equal length before.

        Raises RetryableError, StoreError.
        """
        since = query.since
        compared = self._compared(query, until)
        scale = compared.total / len(compared.errors) if compared.errors else 1.0
        now = sum(error.seen >= since for error in compared.errors)
        found = clustered(compared.errors, compared.names)
        clusters = (_cluster(group, since, compared, scale, now) for group in found.groups)
        return ClusterAnswer(
            since,
            until,
            round(scale * now),
            round(scale * sum(error.seen >= since for error in found.single)),
            len(compared.errors) if scale > 1 else None,
            find_spec("sklearn") is not None,
            sorted((one for one in clusters if one.errors), key=lambda one: (-one.errors, one.group.example)),
        )

    def units(self, query: ErrorQuery, until: int) -> list[ErrorGroup]:
        """The types that have a name, and up to 200 groups that have none, the largest first. Raises as `ask`."""
        compared = self._compared(query, until)
        units = cluster_units(compared.errors, compared.names)
        return [*units.kept[:MOST_TEXTS], *units.unnamed[:MOST_TEXTS]]

    def name(self, name: str, error_ids: Sequence[str]) -> int:
        """Give errors the name of their type; how many of them there are. Raises as `ask`."""
        traces = self._stored.save_name(name, error_ids[:MOST_NAMED], self._clock())
        self._derive(sorted(set(traces)))
        return len(traces)

    def parameters(self, clusters: Sequence[ErrorCluster]) -> dict[str, dict[str, Any]]:
        """The JSON schemas of the tools of clusters, as far as a trace with such an error records them."""
        found: dict[str, dict[str, Any]] = {}
        looked: set[str] = set()
        for one in clusters:
            if (tool := one.group.tool) and tool not in looked and len(looked) < _TOOLS:
                looked.add(tool)
                trace = self._trace(one.spans[0].trace_id)
                if parameters := _parameters(trace, tool) if trace else None:
                    found[tool] = dict(parameters)
        return found

    def _compared(self, query: ErrorQuery, until: int) -> _Compared:
        before = max(0, 2 * query.since - until)
        both = replace(query, since=before, before=Position(until), limit=SAMPLE)
        summaries, total = self._errors.sample(both)
        traces = self._stored.traces({one.trace_id for one in summaries})
        errors = [_clustered(one, traces.get(one.trace_id)) for one in summaries]
        names = self._stored.names({one.trace_id for one in summaries})
        return _Compared({one.id: one for one in summaries}, errors, traces, names, total)


def _clustered(error: ErrorSummary, trace: TraceCalls | None) -> ClusteredError:
    spans = error.shown_at, error.span_id
    tool = tool_of(spans, error.dimensions, trace.calls) if trace else ""
    text = error_text(error.category, error.explanation or error.title)
    return ClusteredError(text, error.id, error.taxonomy, error.category, tool, error.first_seen)


def _cluster(group: ErrorGroup, since: int, compared: _Compared, scale: float, total: int) -> ErrorCluster:
    own = [compared.summaries[error.id] for error in group.errors if error.seen >= since]
    before = len(group.errors) - len(own)
    sessions = {found.session if (found := compared.traces.get(one.trace_id)) else ("", one.trace_id) for one in own}
    latest = sorted(own, key=lambda one: (one.id != group.example.id, -one.first_seen, one.id))
    return ErrorCluster(
        group,
        round(scale * len(own)),
        round(scale * before),
        len(sessions),
        len(own) / total if total else 0.0,
        count_ratio(len(own), before),
        latest[:_SPANS],
    )


def _parameters(trace: Trace, tool: str) -> Mapping[str, Any] | None:
    calls = (call.span for run in trace.runs for turn in run.turns for call in turn.tool_calls if call.name == tool)
    own = (span.tool_parameters for span in calls if span is not None)
    listed = (one.parameters for run in trace.runs for one in run.tools if one.name == tool)
    return next((found for found in (*own, *listed) if found), None)
