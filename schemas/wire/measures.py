"""The JSON of measures. From the first release on, keys are only ever added."""

from __future__ import annotations

from .base import Number, OptionalText, Time, WireModel
from .rates import EstimateJson


class PackMeasureJson(WireModel):
    """One measure of a pack: its short name, the judge whose verdicts have it, and its definition."""

    letter: str
    judge: str
    title: str
    definition: str


class SpreadJson(WireModel):
    """Mean and standard deviation of a count over `n` sessions or exchanges."""

    mean: Number
    deviation: Number
    n: int


class MeasureFigureJson(WireModel):
    """One measure over sessions; `estimate` null where it is defined in none.

    `n`: sessions where it is defined; `raw`: with ungrounded items taken as failed; `not_applicable`, `unscored`:
    sessions without a value; `ungrounded`: items whose quote was not found.
    """

    letter: str
    estimate: EstimateJson | None
    raw: EstimateJson | None
    n: int
    not_applicable: int
    unscored: int
    ungrounded: int


class MeasureGroupJson(WireModel):
    """The measures of one group ("" where nothing is grouped, or it has no name) from `at` on.

    `average`: plain mean of the defined measures; `exchanges` a session and `states` an exchange, null where unknown.
    """

    key: str
    at: Time
    sessions: int
    measures: list[MeasureFigureJson]
    average: Number | None
    exchanges: SpreadJson | None
    states: SpreadJson | None


class SessionValuesJson(WireModel):
    """The values of one session by letter; null: not applicable or unscored."""

    service: str
    session_id: str
    at: Time
    values: dict[str, Number | None]
    average: Number | None


class ComparedMeasuresJson(WireModel):
    """The measures of other sessions, and by letter the differences to them, null where one is undefined."""

    since: Time
    until: Time
    service: OptionalText
    version: OptionalText
    total: MeasureGroupJson
    differences: dict[str, EstimateJson | None]


class BehaviourFiguresJson(WireModel):
    """Tasks with an oracle by behaviour of the user ("": nobody labelled them), each session counted once.

    `success`: the share that succeeded; `drop` of it against ideal users, negative for a gain, null where these never
    succeed; `calls`: mean of calls / budget, null without a budget; `modes`: shares of the failures by mode.
    """

    behaviour: str
    sessions: int
    success: Number
    drop: Number | None
    calls: Number | None
    modes: dict[str, Number]


class PackMeasuresJson(WireModel):
    """The measures of one pack over sessions.

    `items`: by group, the lowest average first, and point in time; `worst`: sessions with the lowest average; `left`:
    groups beyond the limit; `unread`: sessions beyond the latest 10,000; `waiting`: sessions that are still to be
    measured, null where a task is asked for; `compared`: null unless it was asked for; `tasks`: by behaviour where that
    was asked for, ideal users first.
    """

    pack: str
    title: str
    measures: list[PackMeasureJson]
    total: MeasureGroupJson
    items: list[MeasureGroupJson]
    worst: list[SessionValuesJson]
    left: int
    unread: int
    waiting: int | None
    compared: ComparedMeasuresJson | None
    tasks: list[BehaviourFiguresJson]


class MeasuresJson(WireModel):
    """The measures of each pack that was asked for."""

    since: Time
    until: Time
    by: OptionalText
    pooled: bool
    simulated: bool
    step_seconds: Number | None
    items: list[PackMeasuresJson]
