"""The rows of `/api/export`, as types: of JSON lines and of Parquet alike. Keys are only ever added."""

from __future__ import annotations

from typing import Final

from .base import OptionalText, Time, WireModel
from .errors import ErrorCounts, ErrorJson, FindingJson, ListedFindingJson, WorstErrorJson
from .labels import AnnotationJson, HumanScoreJson, ReviewJson
from .scores import GivenScoreJson
from .traces import VerdictJson

UNJUDGED: Final = "X-Tracejury-Unjudged-Traces"
"""The header of an export with the number of traces asked for that were not judged yet when its rows began."""


class FindingRow(ListedFindingJson):
    """A finding with the agent run that it is in. What a run would say is null where it is in none.

    `transcript`: the run as an LLM judge is given it, its steps labelled S1, S2 …; `label`: that of the finding's step.
    `labels`: what people say of this finding.
    """

    session_id: OptionalText
    trace_state: str
    conventions: list[str]
    run_role: str | None
    run_goal: str | None
    run_answer: str | None
    run_status: str | None
    label: str | None
    transcript: str | None
    labels: list[AnnotationJson]


class LabelledFinding(FindingJson):
    """A finding with the label of its step in the run's transcript."""

    label: str | None


class ErrorRow(ErrorJson):
    """An error with the agent run that it was decided in, as a row of a finding.

    `label`: that of the step where it was decided. `findings`: those of its findings that the profile shows by
    themselves. `labels`: what people say of any of its findings.
    """

    session_id: OptionalText
    trace_state: str
    conventions: list[str]
    run_role: str | None
    run_goal: str | None
    run_answer: str | None
    run_status: str | None
    label: str | None
    transcript: str | None
    findings: list[LabelledFinding]
    labels: list[AnnotationJson]


class StepJson(WireModel):
    """A step of a transcript; `kind`: llm, tool or agent."""

    label: str
    kind: str
    span_id: str
    turn: int


class RunRow(WireModel):
    """An agent run with its transcript, all that judges found in it and said of it, and what people say of it.

    `errors` counts those that were decided in it, by severity; `worst_error`: the worst of them, null for none.
    `reviews`: people who have looked at all of it; what they did not mark is no error to them.
    """

    trace_id: str
    session_id: OptionalText
    service: str
    trace_state: str
    conventions: list[str]
    agent_run_id: str
    parent_run_id: OptionalText
    agent: str
    role: str
    goal: str
    answer: str
    status: str
    turns: int
    start: Time
    end: Time
    transcript: str | None
    steps: list[StepJson]
    errors: ErrorCounts
    worst_error: WorstErrorJson | None
    findings: list[LabelledFinding]
    verdicts: list[VerdictJson]
    labels: list[AnnotationJson]
    scores: list[HumanScoreJson]
    reviews: list[ReviewJson]
    given_scores: list[GivenScoreJson]
    inferred: bool = False
    beside: bool = False


class TrailError(WireModel):
    """An error in the keys of TRAIL's annotations; `location` is a span id."""

    category: str
    location: str
    evidence: str
    description: str
    impact: str


class TrailRow(WireModel):
    """The findings of a trace, in the layout of TRAIL's annotation files; other taxonomies' findings are left out."""

    trace_id: str
    errors: list[TrailError]
