"""The JSON of traces that are compared. From the first release on, keys are only ever added."""

from __future__ import annotations

from .base import Number, OptionalText, Time, WireModel
from .rates import EstimateJson


class TraceStepJson(WireModel):
    """A step of a trace: a call, or (`tool` null) the answer of an agent.

    `outcome`: null of success, "no result", or "failed" with the kind of failure. Long `arguments` and `result` are
    cut.
    """

    agent: str
    tool: OptionalText
    arguments: str
    outcome: OptionalText
    result: str
    trace_id: OptionalText
    span_id: OptionalText


class StepPairJson(WireModel):
    """What two traces did at one place; null: nothing. `difference`: how it differs, null where it does not."""

    first: TraceStepJson | None
    second: TraceStepJson | None
    difference: str | None


class ComparedTraceJson(WireModel):
    """A trace that is compared; `asked`: what its first agent was asked."""

    trace_id: str
    service: str
    session_id: OptionalText
    asked: str


class ComparedTracesJson(WireModel):
    """Two traces and their steps in pairs.

    `divergence`: what each did where they first differ, null where nowhere; `at`: pairs before it; `left`: steps that
    are not shown.
    """

    first: ComparedTraceJson
    second: ComparedTraceJson
    divergence: StepPairJson | None
    at: int
    pairs: list[StepPairJson]
    left: int


class FailingStepJson(WireModel):
    """The earliest step at which failing runs do otherwise: the `nth` call of a tool, or (`tool` null) answer.

    `kind`: what of it; `value`: which arguments, outcome or result; `failing`, `passing`: runs that do it; `lift`: the
    difference of their shares; `at`: steps before it; `step`: an example. `told`: all of it in a sentence.
    """

    agent: str
    tool: OptionalText
    nth: int
    kind: str
    value: OptionalText
    failing: int
    passing: int
    lift: EstimateJson
    p_value: Number
    at: int
    step: TraceStepJson
    told: str


class ComparedRunsJson(WireModel):
    """Runs that fail beside runs that pass; `step`: where they part, null where it cannot be told.

    `decided_by`: how many runs by labels, by the measure of success of a pack (its name), by HIGH errors, or by the
    pattern; `left`: runs that were not read; `looked_at`: what could have told, for whose number the test is corrected.
    `examples`: a trace of a failing run and one of a passing run, of which one does it.
    """

    since: Time
    until: Time
    task: OptionalText
    pattern: OptionalText
    failing: int
    passing: int
    decided_by: dict[str, int]
    left: int
    looked_at: int
    step: FailingStepJson | None
    examples: list[str]
    unknown: dict[str, list[str]]
