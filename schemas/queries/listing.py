"""Lists of traces and sessions: the rows of sessions, by what lists are sorted, and what they suggest to filter by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.trace_status import TraceStatus, status_of
from tracejury.schemas.trajectory import TraceState


class Sort(StrEnum):
    """The order of a list; unknown values come last."""

    RECEIVED = "received"
    START = "start"
    DURATION = "duration"
    COST = "cost"
    TOKENS = "tokens"
    SEVERITY = "severity"  # by the number of errors of the worst severity, then of the next
    ERRORS = "errors"
    FINDINGS = "findings"  # an earlier name of `errors`


@dataclass(frozen=True, slots=True)
class WorstError:
    """The worst error of a row; `trace_id` and `span_id`: of its primary span."""

    id: str
    trace_id: str
    span_id: str
    title: str
    severity: Severity


@dataclass(frozen=True, slots=True)
class SessionRow:
    """Traces of one conversation: those of one service that name one session id.

    `errors` by severity, and the `worst` of them; `turns`: LLM turns of all agents; `start` to `end` of the spans,
    `received`: the last arrival, all in unix nanos; tokens and `usd` are None where they are not known, and
    partial where `calls_without_usage` LLM calls recorded none.
    `priced_traces`: those with a known cost; `unjudged_traces`: those that no judge has looked at. `place`,
    `key`: in the order.
    """

    session_id: str
    service: str
    state: TraceState
    traces: int
    turns: int
    agents: Sequence[str]
    start: int
    end: int
    first_received: int
    received: int
    errors: Mapping[Severity, int]
    worst: WorstError | None = None
    tokens: int | None = None
    usd: float | None = None
    priced_traces: int = 0
    unjudged_traces: int = 0
    calls_without_usage: int = 0
    place: int = 0
    key: str = ""

    @property
    def status(self) -> TraceStatus:
        """How it stands, for people."""
        return status_of(self.state, self.unjudged_traces, self.traces)

    @property
    def order_id(self) -> str:
        """Its id among those of one place, which are in order of `start`."""
        return order_id(self.start, self.key)


def order_id(start: int, key: str) -> str:
    """A text that orders as a start (unix nanos) does, and then as a key."""
    return f"{start:020}{key}"


@dataclass(frozen=True, slots=True)
class Facets:
    """Names that traces of some time can be filtered by, each with how many traces, most first."""

    services: Sequence[tuple[str, int]] = ()
    agents: Sequence[tuple[str, int]] = ()
    tools: Sequence[tuple[str, int]] = ()
    models: Sequence[tuple[str, int]] = ()
    versions: Sequence[tuple[str, int]] = ()
    categories: Sequence[tuple[str, int]] = ()
    judges: Sequence[tuple[str, int]] = ()
