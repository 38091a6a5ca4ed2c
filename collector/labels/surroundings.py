"""The context of new labels: their traces, and the labels that these have already. All methods block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tracejury.collector.queries.reader import LabelT
from tracejury.collector.queries.span_runs import span_runs
from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.schemas.errors import ConfigError, NotFoundError
from tracejury.schemas.queries.labels import LabelQuery
from tracejury.schemas.queries.reader import Confidence

_ALL: Final = 1_000_000
"""More labels than people give to one trace."""
_SHOWN: Final = 10
"""Services that a refusal names."""


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
        self._kept: dict[object, dict[str, Any]] = {}
        self._views: dict[str, _View] = {}

    def kept(self, kind: type[LabelT], **about: Any) -> dict[str, LabelT]:
        """All labels of one kind that have these fields, withdrawn or not; the caller adds the new ones."""
        asked = LabelQuery(_ALL, withdrawn=True, **about)
        if (kind, asked) not in self._kept:
            self._kept[kind, asked] = {label.place: label for label in self._reader.labels.find(kind, asked)}
        return self._kept[kind, asked]

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

    def service(self, named: str, session_ids: Sequence[str]) -> str:
        """The service that has all of these sessions; without a name the one that has.

        Raises:
            NotFoundError: there is none. ConfigError: there are several.
        """
        found = [set(self._reader.session_services(one)) for one in session_ids]
        for session_id, services in zip(session_ids, found, strict=True):
            if not services or (named and named not in services):
                of = f" of service {named[:64]!r}" if named else ""
                raise NotFoundError(f"no session {session_id[:64]!r}{of} is stored")
        shared = set.intersection(*found)
        if named or len(shared) == 1:
            return named or shared.pop()
        if not shared:
            raise NotFoundError("no service has both sessions: they are of different ones")
        listed = ", ".join(repr(one[:64]) for one in sorted(shared)[:_SHOWN])
        raise ConfigError(f"several services have such sessions, name one of them: {listed}")

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
