"""The JSON of human labels, as types; in the style of `shapes`. A line of an export is one of `LABEL_MODELS`."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import BeforeValidator

from .base import Number, OptionalText, Page, Time, WireModel
from .rates import EstimateJson

Probability = Annotated[Number | None, BeforeValidator(lambda value: value or None)]
"""Null where there is none."""


class AnnotationJson(WireModel):
    """A person's opinion on a finding (`opinion` agree, disagree, other-span), or an error that none names (missed).

    `fingerprint` is the finding's. `withdrawn`: taken back; it counts nowhere.
    """

    kind: str
    id: str
    opinion: str
    annotator: str
    trace_id: str
    span_id: str
    agent_run_id: OptionalText
    finding_id: OptionalText
    judge: OptionalText
    fingerprint: OptionalText
    taxonomy: str
    category: str
    severity: str
    evidence: str
    explanation: str
    withdrawn: bool
    changed_at: Time


class HumanScoreJson(WireModel):
    """How good a person finds an agent run in a dimension: 0 to 3, 3 best; null: not applicable."""

    kind: str
    annotator: str
    trace_id: str
    agent_run_id: str
    dimension: str
    score: int | None
    explanation: str
    withdrawn: bool
    changed_at: Time


class ReviewJson(WireModel):
    """A person has looked at the whole of an agent run. `stratum`, `probability`: how the queue drew it, else null."""

    kind: str
    annotator: str
    trace_id: str
    agent_run_id: str
    stratum: OptionalText
    probability: Probability
    withdrawn: bool
    changed_at: Time


class PreferenceJson(WireModel):
    """Which of two sessions a person finds better: `session_id` (first), `other_session_id` (second) or neither (same).

    The two are in the order of their ids, however they were named.
    """

    kind: str
    id: str
    annotator: str
    service: str
    session_id: str
    other_session_id: str
    better: str
    explanation: str
    withdrawn: bool
    changed_at: Time


class SessionLabelJson(WireModel):
    """Whether a person finds a session good; `satisfied`: whether its user is, null where that is unknown.

    `session_id`: the trace's id where a trace has no session. `situation`: what went wrong, null where nobody says.
    """

    kind: str
    id: str
    annotator: str
    service: str
    session_id: str
    good: bool
    satisfied: bool | None
    situation: OptionalText
    explanation: str
    withdrawn: bool
    changed_at: Time


class PatternLabelJson(WireModel):
    """What a person decides about a pattern: acknowledged, resolved (in `version`, else from then on) or ignored.

    `until`: when it is told of again, in unix nanoseconds; 0: never.
    """

    kind: str
    annotator: str
    pattern: str
    mark: str
    version: OptionalText
    until: int
    explanation: str
    withdrawn: bool
    changed_at: Time


class ScoreOutcomeJson(WireModel):
    """That scores of a `name`, which others give, say whether a session was good: those that are as `good` asks."""

    kind: str
    annotator: str
    name: str
    good: str
    explanation: str
    withdrawn: bool
    changed_at: Time


LABEL_MODELS: Final[dict[str, type[WireModel]]] = {
    "annotations": AnnotationJson,
    "human-scores": HumanScoreJson,
    "reviews": ReviewJson,
    "preferences": PreferenceJson,
    "session-labels": SessionLabelJson,
    "pattern-labels": PatternLabelJson,
    "score-outcomes": ScoreOutcomeJson,
}
"""By the plural of their kind of label."""


class QueueItemJson(WireModel):
    """An agent run to look at. `stratum` and `probability` go into the review; null where it was not drawn.

    Or a session, without trace, run and agent; `session_id` is the trace's id where a trace has no session.
    """

    trace_id: OptionalText
    agent_run_id: OptionalText
    session_id: OptionalText
    service: str
    agent: str
    why: str
    stratum: OptionalText
    probability: Probability


class QueuePage(Page[QueueItemJson]):
    """The runs or sessions to label, in that order; `next` is always null: what is reviewed leaves the queue."""


class StratumJson(WireModel):
    """Runs of one stratum; `waiting`: the sample lacks them, most of them because they came later."""

    name: str
    size: int
    reviewed: int
    waiting: int


class JudgeQualityJson(WireModel):
    """How a judge or detector fares against labels; null where nothing tells.

    `findings`: labelled ones, of which people take `agreed` for right, `localised` at the right span, too; `errors`:
    those that people see in reviewed runs that it looked at, of which it names `found`. `drawn`: only runs that the
    queue drew count, each as many times as there are runs like it.
    """

    judge: str
    findings: int
    agreed: int
    localised: int
    precision: EstimateJson | None
    errors: int
    found: int
    recall: EstimateJson | None
    drawn: bool


class QualityPage(WireModel):
    """By name of the judge, and the sample that there is."""

    items: list[JudgeQualityJson]
    next: str | None
    strata: list[StratumJson]
    unknown: dict[str, list[str]]


class MeasureAgreementJson(WireModel):
    """How a measure goes with which of two sessions people prefer; `pack` null: the mean score of an LLM judge.

    `agreement`: `concordant` and `both_tied` among all `pairs`; `decided`: `concordant` among those without ties.
    """

    pack: OptionalText
    letter: str
    title: str
    pairs: int
    concordant: int
    discordant: int
    measure_tied: int
    people_tied: int
    both_tied: int
    agreement: EstimateJson | None
    decided: EstimateJson | None


class AgreementPage(WireModel):
    """Measures with pairs, by pack. `contested`: pairs of which people contradict each other, which no measure has.

    `people`: how often two people say the same of a pair.
    """

    pairs: int
    same: int
    contested: int
    people: EstimateJson | None
    items: list[MeasureAgreementJson]
    next: str | None
    unknown: dict[str, list[str]]


class RefusedLine(WireModel):
    """A line of an import that was not taken: its place in the request, from 0, and why."""

    index: int
    detail: str


class ImportedJson(WireModel):
    """How many lines of a request were news, or known already; and those that were refused."""

    changed: int
    unchanged: int
    refused: list[RefusedLine]


class DeletedLabelsJson(WireModel):
    """How many labels were deleted."""

    deleted: int
