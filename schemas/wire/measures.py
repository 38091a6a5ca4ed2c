"""The JSON of measures. From the first release on, keys are only ever added."""

from __future__ import annotations

from .base import Number, OptionalText, Time, WireModel
from .rates import EstimateJson


class PackMeasureJson(WireModel):
    """One measure of a pack: its short name, the judge whose verdicts have it, its definition, whether AVG has it.

    `of`: the judges whose mean it is, where it is no judge's own.
    """

    letter: str
    judge: str
    title: str
    definition: str
    averaged: bool
    of: list[str]


class SpreadJson(WireModel):
    """Mean and standard deviation of a count over `n` sessions or exchanges."""

    mean: Number
    deviation: Number
    n: int


class MeasureFigureJson(WireModel):
    """One measure over sessions; `estimate` null where it is defined in none.

    `n`: sessions where it is defined; `raw`: with ungrounded items taken as failed; `not_applicable`, `unscored`:
    sessions without a value; `ungrounded`: items whose quote was not found, or grades of 0 without a standing finding;
    `sampled`: the share of sessions that the judge was asked about; `shares`: of grades of 0 and of 1.
    """

    letter: str
    estimate: EstimateJson | None
    raw: EstimateJson | None
    n: int
    not_applicable: int
    unscored: int
    ungrounded: int
    sampled: Number | None
    shares: dict[str, EstimateJson | None]


class TaskMeanJson(WireModel):
    """A figure of trials over the `tasks` where it is defined, null in none; `estimate` where it is a difference.

    `kind`: mean, max@k, pass@k or pass^k; `letter`: of the measure.
    """

    kind: str
    letter: str
    value: Number | None
    tasks: int
    estimate: EstimateJson | None


class TaskTrialsJson(WireModel):
    """How many trials of how many tasks there are, and their figures."""

    tasks: int
    trials: int
    figures: list[TaskMeanJson]


class MeasureGroupJson(WireModel):
    """The measures of one group ("" where nothing is grouped, or it has no name) from `at` on.

    `keys`: its value by each name in `by`. `average`: plain mean of the defined measures that it has; `exchanges` a
    session and `states` an exchange, null where unknown. `invalid`: sessions that a check of a pack found so, which are
    in no other figure. `trials` and `own`, the pack's own figures of them (numbers, or shares by name), where trials
    are asked for.
    """

    key: str
    keys: list[str]
    at: Time
    sessions: int
    measures: list[MeasureFigureJson]
    average: Number | None
    exchanges: SpreadJson | None
    states: SpreadJson | None
    invalid: int
    trials: TaskTrialsJson | None
    own: dict[str, Number | dict[str, Number] | None]


class SessionValuesJson(WireModel):
    """The values of one session by letter; null: not applicable or unscored. `trace_id`, `run_id`: of an agent run."""

    service: str
    session_id: str
    at: Time
    values: dict[str, Number | None]
    average: Number | None
    trace_id: OptionalText
    run_id: OptionalText


class ComparedMeasuresJson(WireModel):
    """The measures of other sessions, and by letter the differences to them, null where one is undefined.

    `trials`: differences of figures of trials over the tasks that both have, 1,000 of them at most.
    """

    since: Time
    until: Time
    service: OptionalText
    version: OptionalText
    total: MeasureGroupJson
    differences: dict[str, EstimateJson | None]
    trials: list[TaskMeanJson]


class PackMeasuresJson(WireModel):
    """The measures of one pack over sessions, or agent runs: its `unit`. `best`: the best value, 3 of grades.

    `items`: by group, the lowest average first, and point in time; `worst`: sessions with the lowest average; `left`:
    groups beyond the limit; `unread`: sessions beyond the latest 10,000; `waiting`: sessions that are still to be
    measured, null where a task is asked for; `compared`: null unless it was asked for.
    """

    pack: str
    title: str
    unit: str
    best: int
    measures: list[PackMeasureJson]
    total: MeasureGroupJson
    items: list[MeasureGroupJson]
    worst: list[SessionValuesJson]
    left: int
    unread: int
    waiting: int | None
    compared: ComparedMeasuresJson | None


class MeasuresJson(WireModel):
    """The measures of each pack that was asked for. `k` and `threshold`: of trials.

    `unknown`, where no session was found: the unknown names that it was asked for, each with known ones;
    `unknown_compared`, likewise: of what it is compared to.
    """

    since: Time
    until: Time
    by: OptionalText
    pooled: bool
    simulated: bool
    k: int
    threshold: Number
    step_seconds: Number | None
    items: list[PackMeasuresJson]
    unknown: dict[str, list[str]]
    unknown_compared: dict[str, list[str]]
