"""The answers of the tools. Texts that agents, their tools or models wrote stand under `quoted`, and nowhere else.

Keys are only ever added. `next` goes into `cursor`; null on the last page.
"""

from __future__ import annotations

from tracejury.schemas.wire.base import Number, Time, WireModel
from tracejury.schemas.wire.rates import EstimateJson

from .quoted import Quoted


class ErrorBrief(WireModel):
    """An error; `quoted` title, evidence, service, agent."""

    id: str
    trace_id: str
    span_id: str
    category: str
    severity: str
    confidence: Number
    judge: str
    first_seen: Time
    decisive: bool
    label: str | None
    pattern: str | None
    quoted: Quoted


class ErrorBriefs(WireModel):
    """Errors, latest first."""

    items: list[ErrorBrief]
    next: str | None


class ToldCall(WireModel):
    """A tool call; `quoted` tool, arguments, result, failure."""

    span_id: str | None
    failed: bool
    sub_run_id: str | None
    quoted: Quoted


class ToldTurn(WireModel):
    """A turn; `quoted` text; `here`: it is that of the span that was asked for."""

    index: int
    kind: str
    span_id: str | None
    here: bool
    quoted: Quoted
    calls: list[ToldCall]


class ToldRun(WireModel):
    """An agent run with some of its turns; `quoted` name, goal, answer."""

    id: str
    role: str
    status: str
    span_id: str | None
    parent_id: str | None
    not_judged: str | None
    quoted: Quoted
    turns: list[ToldTurn]


class ToldTrace(WireModel):
    """A trace in outline; `quoted` service. `judged` false: that it has no errors proves nothing (yet)."""

    trace_id: str
    state: str
    spans: int
    start: Time
    end: Time
    judged: bool
    not_judged: str | None
    page: str
    quoted: Quoted
    agent_runs: list[ToldRun]
    errors: list[ErrorBrief]
    next: str | None


class ErrorCause(ErrorBrief):
    """An error with its cause, around it the turns before and after.

    `quoted` also explanation and, of a decisive error, decided_why and instead, what the agent should have done.
    `seen_at`: further spans of it, by what they did: showed it, read it, repeated it.
    `also`: ids of the other errors of the span that was asked for.
    """

    state: str
    judges: list[str]
    agent_run_id: str | None
    turn: int | None
    seen_at: dict[str, list[str]]
    verification: str | None
    turns: list[ToldTurn]
    also: list[str]
    page: str


class FoundTrace(WireModel):
    """A trace in a list; `errors` by severity; `quoted` name, service, agents, goal, worst_error."""

    trace_id: str
    state: str
    start: Time
    turns: int
    errors: dict[str, int]
    worst_error_id: str | None
    judged: bool
    not_judged: str | None
    quoted: Quoted


class FoundTraces(WireModel):
    """Traces, latest first."""

    items: list[FoundTrace]
    next: str | None


class ToldRate(WireModel):
    """Units that were judged, those with an error, the weighted share; `quoted` group."""

    judged: int
    hits: int
    errors: int
    share: EstimateJson | None
    quoted: Quoted


class ToldRates(WireModel):
    """Error rates; `items` by group, worst first; `unjudged`: what stands in no rate, by why."""

    unit: str
    population: str
    since: Time
    until: Time
    total: ToldRate
    items: list[ToldRate]
    unjudged: dict[str, int]
    next: str | None


class ToldPattern(WireModel):
    """A pattern: its state, its share of runs; `quoted` service, about, told, evidence, since_version.

    `since`: since when, null where `quoted` has a version or it cannot be told. `examples`: ids of errors.
    """

    id: str
    state: str
    severity: str
    hits: int
    units: int
    share: EstimateJson | None
    since: Time | None
    last_seen: Time
    examples: list[str]
    quoted: Quoted


class ToldPatterns(WireModel):
    """Patterns, the most harmful first; `hidden`: resolved or ignored ones."""

    items: list[ToldPattern]
    hidden: int
    next: str | None


class ToldStep(WireModel):
    """A step of a trace; `quoted` agent, tool, arguments, outcome, result."""

    trace_id: str | None
    span_id: str | None
    quoted: Quoted


class ToldDifference(WireModel):
    """Where two traces first differ: after `at` equal steps; `first` or `second` null: it did nothing there."""

    at: int
    first: ToldStep | None
    second: ToldStep | None
    quoted: Quoted


class ToldParting(WireModel):
    """The step at which failing runs part from passing ones; `quoted` told. `examples`: two traces to compare."""

    failing: int
    passing: int
    found: bool
    p_value: Number | None
    lift: EstimateJson | None
    step: ToldStep | None
    examples: list[str]
    quoted: Quoted


class ToldChange(WireModel):
    """The rates of two versions; `difference` of their shares, with the p-value of there being none."""

    version: ToldRate
    to_version: ToldRate
    difference: EstimateJson | None
    p_value: Number | None


class Compared(WireModel):
    """What was asked for; the others are null. `same`: the two traces differ nowhere but in ids, times and wording."""

    same: bool | None = None
    traces: ToldDifference | None = None
    runs: ToldParting | None = None
    rates: ToldChange | None = None


class ToldLabel(WireModel):
    """The label that holds now."""

    id: str
    opinion: str
    annotator: str
    trace_id: str
    span_id: str
    finding_id: str | None
