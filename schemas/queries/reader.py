"""Queries of the store as frozen values, and their results as domain objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tracejury.schemas.agent_errors import ErrorSummary
from tracejury.schemas.annotations import ErrorLabel
from tracejury.schemas.findings import Finding, FindingState
from tracejury.schemas.not_judged import NotJudged
from tracejury.schemas.profiles import CAUTIOUS_PROFILE, DEFAULT_PROFILE, threshold
from tracejury.schemas.spans import LogRecord, Span
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.trace_status import TraceStatus, status_of
from tracejury.schemas.trajectory import Trace, TraceState
from tracejury.schemas.verdicts import Verdict

from .listing import Sort, WorstError, order_id


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


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in a list that is ordered by time (unix nanos) and then by id."""

    time: int
    id: str = ""


@dataclass(frozen=True, slots=True)
class TraceQuery:
    """Traces, or sessions that hold such a trace, in order of `sort`. Empty fields do not filter.

    [`since`, `until`) in unix nanos, of arrival. `severity` (at least), `category` (its name, or taxonomy/name),
    `taxonomy`, `judge` and `dimension` are of one finding; `agent`, `role`, `model` and `score` (as `filters.scores`
    reads it) of one agent run; where both are given the finding is of that run, and with `tool` at a call of that tool.
    `prompt`: the label of a prompt, or its name. `other_score`: as `score_filter.given_score` reads it.
    `min_duration`: nanos. `text`: stands in what was said, found or named, or begins an id. `attributes`, `task` (by
    one of `task_keys`), `tag` and `user`: what spans of the trace state, each attribute as (key, value). `judged`: yes,
    no, or why not. `before`: the place in the list that the answer follows.
    Of sessions, `state`, `status`, `min_duration` and the order are the session's own.
    """

    confidence: Confidence
    limit: int
    service: str = ""
    agent: str = ""
    session_id: str = ""
    since: int = 0
    before: Position | None = None
    until: int = 0
    state: TraceState | None = None
    status: TraceStatus | None = None
    severity: Severity | None = None
    category: str = ""
    taxonomy: str = ""
    judge: str = ""
    dimension: str = ""
    pattern: str = ""
    tool: str = ""
    prompt: str = ""
    judged: str = ""
    version: str = ""
    model: str = ""
    role: str = ""
    inferred: str = ""
    score: Sequence[str] = ()
    other_score: Sequence[str] = ()
    min_duration: int = 0
    text: str = ""
    attributes: Sequence[tuple[str, str]] = ()
    tag: str = ""
    user: str = ""
    task: str = ""
    task_keys: Sequence[str] = ()
    sort: Sort = Sort.RECEIVED
    ascending: bool = False


@dataclass(frozen=True, slots=True)
class ErrorQuery:
    """Errors, or findings, by first sight: latest first, or, with `after`, earliest first. Empty fields do not filter.

    `since`: unix nanos, of first sight; `severity`: at least; `decisive`: only errors that decided an outcome, or the
    findings that mark them. With `before` and `after`: between the two. Of errors, `span_id` may have any role in one,
    `judge` be any that saw it, and `simulated` ask for those of simulated sessions or (False) of real ones.
    `score`: as of a `TraceQuery`, of its run. `attributes`, `tag` and `user`: as there, of the trace that shows it.
    `pack`: errors that one of its checks saw; `task`: of traces with a span that names it by one of `task_keys`.
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
    decisive: bool = False
    since: int = 0
    before: Position | None = None
    after: Position | None = None
    simulated: bool | None = None
    score: Sequence[str] = ()
    attributes: Sequence[tuple[str, str]] = ()
    tag: str = ""
    user: str = ""
    pattern: str = ""
    pack: str = ""
    task: str = ""
    task_keys: Sequence[str] = ()

    @property
    def is_narrow(self) -> bool:
        """Whether it is of few traces, so that looking at the latest rows first finds too little."""
        return bool(self.trace_id or self.span_id or self.score or self.attributes or self.tag or self.user)


@dataclass(frozen=True, slots=True)
class TraceRow:
    """A trace in a list. Times in unix nanos; `errors` by severity, and the `worst` of them.

    `goal`: the beginning of what its first manager was asked; `place`: in the asked order; `not_judged`: why no judge
    looked, None where one did. What only judging finds is empty before.
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
    errors: Mapping[Severity, int]
    worst: WorstError | None = None
    name: str = ""
    version: str = ""
    goal: str = ""
    models: Sequence[str] = ()
    turns: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    calls_without_usage: int = 0
    usd: float | None = None
    place: int = 0
    not_judged: NotJudged | None = None

    @property
    def judged(self) -> bool:
        """Whether judges looked at it."""
        return self.not_judged is None

    @property
    def status(self) -> TraceStatus:
        """How it stands, for people."""
        return status_of(self.state, not self.judged)

    @property
    def order_id(self) -> str:
        """Its id among those of one place, which are in order of `start`."""
        return order_id(self.start, self.trace_id)


@dataclass(frozen=True, slots=True)
class LocatedFinding:
    """A finding with the service and the agent it belongs to ("" outside any agent run).

    `unproven`: of a built-in detector that nobody has labelled on the service.
    """

    finding: Finding
    service: str
    agent: str
    unproven: bool = False

    @property
    def judge(self) -> str:
        """The judge that made it."""
        return self.finding.judge

    @property
    def position(self) -> Position:
        """Its place in a list by first sight."""
        return Position(self.finding.first_seen, self.finding.id)


@dataclass(frozen=True, slots=True)
class LocatedError:
    """An error with the service and the agent of its primary span ("" outside any agent run).

    `severity`: for those who ask for the confidence of the query. `whole`: the trace that it shows under. `unproven`:
    led by a built-in detector that nobody has labelled on the service. `label`: what people say of it, None for none.
    `least`: the confidence asked for, 0 for an error that holds no more.
    """

    error: ErrorSummary
    severity: Severity
    whole: str
    service: str
    agent: str
    unproven: bool = False
    label: ErrorLabel | None = None
    least: float = 0.0

    @property
    def judge(self) -> str:
        """The judge of its lead."""
        return self.error.judge

    @property
    def position(self) -> Position:
        """Its place in a list by first sight."""
        return Position(self.error.first_seen, self.error.id)


@dataclass(frozen=True, slots=True)
class ErrorView:
    """An error with its findings, the lead's first; those of one that holds no more are retracted."""

    located: LocatedError
    findings: Sequence[Finding]

    @property
    def withdrawn(self) -> Sequence[str] | None:
        """Why it holds no more, each reason once; None while it holds."""
        if any(finding.state is not FindingState.RETRACTED for finding in self.findings):
            return None
        return tuple(dict.fromkeys(finding.withdrawn for finding in self.findings if finding.withdrawn))


@dataclass(frozen=True, slots=True)
class TraceView:
    """A rebuilt trace with what was found in it; `errors` in order of place."""

    trace: Trace
    findings: Sequence[Finding]
    verdicts: Sequence[Verdict] = ()
    errors: Sequence[LocatedError] = ()


@dataclass(frozen=True, slots=True)
class Received:
    """All that is stored of a trace, and of those that it is one run with."""

    spans: Sequence[Span]
    logs: Sequence[LogRecord]
