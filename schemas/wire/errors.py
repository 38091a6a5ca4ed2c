"""Errors of agents and the findings that make them, as JSON of the API and of `--format json`."""

from __future__ import annotations

from .base import Number, OptionalText, Page, Time, WireModel


class FindingJson(WireModel):
    """One localised error: `span_id` is where it was made, `evidence` stands verbatim in that span's own text.

    `verification`: verified, refuted or unverified, by the judge or model `verified_by` for `verification_reason`; null
    where nobody was asked. `withdrawn`: why it is retracted; null while it holds.
    """

    id: str
    fingerprint: str
    trace_id: str
    span_id: str
    agent_run_id: OptionalText
    turn: int | None
    title: str
    judge: str
    dimension: str | None
    dimensions: list[str]
    taxonomy: str
    category: str
    severity: str
    confidence: Number
    evidence: str
    explanation: str
    tool_span_id: OptionalText
    seen_by_span_id: OptionalText
    also_at: list[str]
    linked: list[str]
    state: str
    first_seen: Time
    verification: OptionalText = None
    verified_by: OptionalText = None
    verification_reason: OptionalText = None
    withdrawn: OptionalText = None


class LocatedFindingJson(FindingJson):
    """A finding outside its trace: with the service and the agent that it belongs to."""

    service: str
    agent: OptionalText


class ListedFindingJson(LocatedFindingJson):
    """A finding in a list; `unproven_on_service` as of an error."""

    unproven_on_service: bool


class ErrorJson(WireModel):
    """One mistake: what its lead, the surest of its findings, says, and the spans where it showed, was read, repeated.

    `span_id`: where it was made; `shown_trace_id`: the trace under whose id it shows; `severity`: for the profile that
    was asked for; `finding_ids`: of all its findings, the lead's first, and `judges` who made them.
    `unproven_on_service`: its lead is of a built-in detector whose findings nobody has labelled on the service.
    `pattern`: the id of the pattern that it is of, null where none is known.
    `human_label`: what people say of it: right, wrong, or contested where they contradict each other; null for nothing.
    `verification` and what follows: of its lead, as of a finding.
    `decisive`: whether it decided the wrong outcome of its trace; then `decided_why` tells how, and `instead` what the
    agent should have done.
    """

    id: str
    trace_id: str
    shown_trace_id: str
    span_id: str
    agent_run_id: OptionalText
    turn: int | None
    service: str
    agent: OptionalText
    title: str
    cause: str
    judge: str
    judges: list[str]
    dimension: str | None
    dimensions: list[str]
    taxonomy: str
    category: str
    severity: str
    confidence: Number
    evidence: str
    explanation: str
    shown_at: OptionalText
    read_at: OptionalText
    repeated_at: list[str]
    pattern: OptionalText = None
    finding_ids: list[str]
    state: str
    first_seen: Time
    unproven_on_service: bool
    human_label: str | None = None
    verification: OptionalText = None
    verified_by: OptionalText = None
    verification_reason: OptionalText = None
    decisive: bool = False
    decided_why: str | None = None
    instead: str | None = None


class ErrorCounts(WireModel):
    """How many errors there are of each severity."""

    HIGH: int
    MEDIUM: int
    LOW: int


class WorstErrorJson(WireModel):
    """The worst error of a row of a list; `trace_id` and `span_id`: where it was made."""

    id: str
    trace_id: str
    span_id: str
    title: str
    severity: str


class SpanErrorJson(ErrorJson):
    """An error as one of its spans sees it; `role`: decided at, shown at, read at or also at."""

    role: str


class ErrorDetailJson(ErrorJson):
    """An error with its findings, the lead's first; one that holds no more is retracted, as they are.

    `least_confidence`: that of the profile asked for, below which lists do not show a finding; 0 of a retracted error.
    """

    findings: list[FindingJson]
    least_confidence: Number = 0


class ErrorPage(Page[ErrorJson]):
    """A page of errors; `next` goes into `cursor` (null on the last page) or, with `after`, into `after`.

    `unknown` as in a page of traces; empty with `after`.
    """


class SpanErrorPage(Page[SpanErrorJson]):
    """A page of the errors that name one span, as a page of errors."""


class FindingPage(Page[ListedFindingJson]):
    """A page of findings, as a page of errors."""


class MendableJson(WireModel):
    """What a session got wrong in its last trace and can still mend, the worst first; judged as if it ended now.

    `judged` false: the trace is too large to be judged at once, so that there are no items proves nothing.
    """

    trace_id: str
    judged: bool
    items: list[ErrorJson]
