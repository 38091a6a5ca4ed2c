"""The context of new labels: their traces, and the labels that these have already. All methods block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tracejury.collector.queries.reader import LabelT
from tracejury.collector.queries.span_runs import span_runs
from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.schemas.annotations import Label
from tracejury.schemas.errors import ConfigError, NotFoundError
from tracejury.schemas.queries.labels import LabelQuery
from tracejury.schemas.queries.reader import Confidence

_ALL: Final = 1_000_000
"""More labels than people give to one trace."""


@dataclass(frozen=True, slots=True)
class _View:
    trace_id: str
    run_ids: tuple[str, ...]
    managers: tuple[str, ...]
    runs: Mapping[str, str]


class Surroundings:
    """Traces are looked up once each."""

    def __init__(self, reader: StoredReader) -> None:
        self._reader = reader
        self._kept: dict[tuple[type[Label], str], dict[str, Any]] = {}
        self._views: dict[str, _View] = {}

    def kept(self, kind: type[LabelT], trace_id: str) -> dict[str, LabelT]:
        """All that was ever said of a trace in labels of one kind, withdrawn or not; the caller adds the new ones."""
        if (kind, trace_id) not in self._kept:
            found = self._reader.labels.find(kind, LabelQuery(_ALL, trace_id=trace_id, withdrawn=True))
            self._kept[kind, trace_id] = {label.place: label for label in found}
        return self._kept[kind, trace_id]

    def must_know(self, trace_id: str, span_id: str) -> None:
        """Raises NotFoundError where there is no such span in that trace."""
        if not self._reader.knows(trace_id, span_id):
            raise NotFoundError(f"no span {span_id[:64]!r} of trace {trace_id[:64]!r} is stored")

    def run_of_span(self, trace_id: str, span_id: str) -> str:
        """The agent run that a span belongs to, "" where it is in none. Raises NotFoundError."""
        return self._view(trace_id).runs.get(span_id, "")

    def run(self, trace_id: str, run_id: str) -> tuple[str, str]:
        """The trace under which an agent run shows, and the run; without a name that of the one manager.

        Raises:
            NotFoundError: there is no such trace or run.
            ConfigError: there are several managers, or none.
        """
        view, run_id = self._view(trace_id), run_id.strip()
        if run_id and run_id not in view.run_ids:
            raise NotFoundError(f"trace {view.trace_id} has no agent run {run_id[:64]!r}")
        if not run_id and len(view.managers) != 1:
            raise ConfigError(f"trace {view.trace_id} has {len(view.managers)} managers: name the agent run")
        return view.trace_id, run_id or view.managers[0]

    def _view(self, trace_id: str) -> _View:
        if trace_id not in self._views:
            found = self._reader.trace(trace_id, Confidence(1.0, 1.0))
            if found is None:
                raise NotFoundError(f"no trace {trace_id[:64]!r} is stored")
            trace = found.trace
            self._views[trace_id] = _View(
                trace.trace_id,
                tuple(run.id for run in trace.runs),
                tuple(run.id for run in trace.runs if not run.parent_id),
                span_runs(trace),
            )
        return self._views[trace_id]
