"""The JSON of scores that others give."""

from __future__ import annotations

from .base import Number, OptionalText, Page, Time, WireModel


class GivenScoreJson(WireModel):
    """One score of a trace, a span or a session: a `value`, a `label` or both, or the `error_type` of its evaluator.

    `at`: when it was said; `received_at`: when it arrived. `waiting`: what it is of has not arrived yet.
    """

    id: str
    name: str
    value: Number | None
    label: OptionalText
    explanation: OptionalText
    source: OptionalText
    error_type: OptionalText
    trace_id: OptionalText
    span_id: OptionalText
    session_id: OptionalText
    at: Time
    received_at: Time
    waiting: bool


class GivenScorePage(Page[GivenScoreJson]):
    """Scores, latest arrival first."""


class TakenScoresJson(WireModel):
    """The ids of the scores, in the order of the request; `left_out`: how many are of deleted traces, not stored."""

    ids: list[str]
    left_out: int


class ScoreIdJson(WireModel):
    """The id of a score."""

    id: str


class LangfuseErrorJson(WireModel):
    """Why a score of a list was not taken."""

    message: str


class LangfuseScoresJson(WireModel):
    """How many scores of a list were taken, and why the others were not."""

    accepted: int
    rejected: int
    errors: list[LangfuseErrorJson]


class LangfuseEventJson(WireModel):
    """One event of a batch, as Langfuse answers: 201 where it is taken."""

    id: str
    status: int
    message: str | None = None


class LangfuseBatchJson(WireModel):
    """The events of a batch that were taken, and those that were not."""

    successes: list[LangfuseEventJson]
    errors: list[LangfuseEventJson]


class PhoenixAnnotationsJson(WireModel):
    """The ids of annotations, as Phoenix answers."""

    data: list[ScoreIdJson]
