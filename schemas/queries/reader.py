"""What the API asks of the store: questions as frozen values, answers as domain objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ...collector.queries.received import Received
from ...judges.profiles import CAUTIOUS_PROFILE, DEFAULT_PROFILE, threshold
from ..findings import Finding
from ..llm_rows import Architecture, Source
from ..rates import Comparison, RateAnswer, RateQuery
from ..taxonomy import Severity
from ..trajectory import Trace, TraceState
from ..verdicts import Verdict
from .listing import Facets, SessionRow, SessionView, Sort

if TYPE_CHECKING:
    from ...collector.queries.trace.trace_queries import Looks
    from .labels import Labels
    from .ledger import Ledger
    from .pipeline_stats import Vitals


@dataclass(frozen=True, slots=True)
class Confidence:
    """The least confidence that is shown, for traces of a recognised convention and for the others."""

    recognised: float
    unrecognised: float

    @classmethod
    def of(cls, profile: str) -> Confidence:
        """That of a profile; of none: each kind of trace in the profile it starts in.

        Raises:
            ConfigError: no such profile.
        """
        if profile:
            return cls(threshold(profile), threshold(profile))
        return cls(threshold(DEFAULT_PROFILE), threshold(CAUTIOUS_PROFILE))

    def least(self, conventions: Sequence[str]) -> float:
        """The threshold for a trace of these conventions."""
        return self.recognised if any(conventions) else self.unrecognised


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a list that is ordered by time (unix nanos) and then by id."""

    time: int
    id: str = ""


@dataclass(frozen=True, slots=True)
class TraceQuery:
    """Traces, or sessions that hold such a trace, in order of `sort`. Empty fields do not filter.

    [`since`, `until`) in unix nanos, of arrival. `severity` (at least), `category` (its name, or taxonomy/name),
    `taxonomy`, `judge` and `dimension` are of one finding; `agent`, `role` and `model` of one agent run; where both are
    given the finding is of that run, and with `tool` at a call of that tool. `min_duration`: nanos. `text`: stands in
    what was said, found or named, or begins an id. `before`: the place in the list that the answer follows. Of
    sessions, `state`, `min_duration` and the order are the session's own.
    """

    confidence: Confidence
    limit: int
    service: str = ""
    agent: str = ""
    session_id: str = ""
    since: int = 0
    before: Position | None = None
    tenant: str = ""
    until: int = 0
    state: TraceState | None = None
    severity: Severity | None = None
    category: str = ""
    taxonomy: str = ""
    judge: str = ""
    dimension: str = ""
    tool: str = ""
    version: str = ""
    model: str = ""
    role: str = ""
    min_duration: int = 0
    text: str = ""
    sort: Sort = Sort.RECEIVED
    ascending: bool = False


@dataclass(frozen=True, slots=True)
class ErrorQuery:
    """Findings by first sight: latest first, or, with `after`, earliest first. Empty fields do not filter.

    `since`: unix nanos, of first sight; `severity`: at least. With `before` and `after`: between the two.
    """

    confidence: Confidence
    limit: int
    trace_id: str = ""
    span_id: str = ""
    service: str = ""
    agent: str = ""
    judge: str = ""
    category: str = ""
    severity: Severity = Severity.LOW
    since: int = 0
    before: Position | None = None
    after: Position | None = None
    tenant: str = ""


@dataclass(frozen=True, slots=True)
class TraceRow:
    """A trace in a list. Times in unix nanos; `findings` by severity.

    `goal`: the beginning of what its first manager was asked; `place`: in the asked order.
    """

    trace_id: str
    session_id: str
    service: str
    state: TraceState
    spans: int
    agents: Sequence[str]
    start: int
    end: int
    received: int
    findings: Mapping[Severity, int]
    name: str = ""
    version: str = ""
    goal: str = ""
    models: Sequence[str] = ()
    turns: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    usd: float | None = None
    place: int = 0


@dataclass(frozen=True, slots=True)
class Sighting:
    """A finding with the service and the agent it belongs to ("" outside any agent run)."""

    finding: Finding
    service: str
    agent: str


@dataclass(frozen=True, slots=True)
class TraceView:
    """A rebuilt trace with what was found in it."""

    trace: Trace
    findings: Sequence[Finding]
    verdicts: Sequence[Verdict] = ()


class Architectures(Protocol):
    """Descriptions of services' architectures. Every method may block: call it on a thread."""

    def current(self, service: str) -> Architecture | None:
        """The one that holds: the last edited one unless it was cleared, else the last derived one."""

    def all_current(self) -> Sequence[Architecture]:
        """The one that holds of each service, by name of service."""

    def versions(self, service: str) -> Sequence[Architecture]:
        """What was derived, edited and cleared, latest first."""

    def keep(self, service: str, text: str, source: Source) -> Architecture:
        """Keep a version; nothing changes where the last of its source is the same."""

    def clear_edit(self, service: str) -> bool:
        """Let the derived one hold again; whether there was an edited one."""


class Rates(Protocol):
    """Error rates. Every method may block: call it on a thread."""

    def ask(self, query: RateQuery) -> RateAnswer:
        """Rates as they stand now. Raises ConfigError where the query means nothing, RetryableError, StoreError."""

    def compare(self, a: RateQuery, b: RateQuery) -> Comparison:
        """Whether `b` differs from `a`; of one population where neither names one. Raises as `ask`."""


class Reader(Protocol):
    """Answers from the store. Every method may block: call it on a thread."""

    @property
    def ledger(self) -> Ledger:
        """What LLM judges said, are to say, and cost."""

    @property
    def architectures(self) -> Architectures:
        """What they are told of services."""

    @property
    def looks(self) -> Looks:
        """What the pages of a trace show."""

    @property
    def labels(self) -> Labels:
        """What people say of all this."""

    @property
    def rates(self) -> Rates:
        """How often agents fail."""

    @property
    def vitals(self) -> Vitals:
        """What else the overview shows."""

    def traces(self, query: TraceQuery) -> Sequence[TraceRow]:
        """Up to `limit` traces."""

    def sessions(self, query: TraceQuery) -> Sequence[SessionRow]:
        """Up to `limit` sessions that hold a trace of the query."""

    def session(
        self, session_id: str, confidence: Confidence, service: str = "", tenant: str = ""
    ) -> SessionView | None:
        """The conversation, of one service or ("") of all that name the id; None when there is none."""

    def facets(self, since: int, until: int = 0, service: str = "", tenant: str = "") -> Facets:
        """What traces that arrived in [`since`, `until`) can be filtered by; `until` 0: no end."""

    def services(self, since: int, limit: int, tenant: str = "") -> Sequence[str]:
        """Up to `limit` services with traces that arrived from `since` (unix nanos) on, latest first; "" for none."""

    def errors(self, query: ErrorQuery) -> Sequence[Sighting]:
        """Up to `limit` findings that hold now."""

    def count_errors(self, query: ErrorQuery) -> int:
        """How many findings there are, whatever limit the query names."""

    def trace(self, trace_id: str, confidence: Confidence, tenant: str = "") -> TraceView | None:
        """The trace rebuilt from its stored spans, None when there is no such trace."""

    def received(self, trace_id: str, tenant: str = "") -> Received | None:
        """What is stored of a trace and of those that it is one run with, None where there is none."""

    def knows(self, trace_id: str, span_id: str, tenant: str = "") -> bool:
        """Whether such a trace, such a span, or (both given) such a span of that trace is stored."""
