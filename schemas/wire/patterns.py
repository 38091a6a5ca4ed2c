"""The JSON of patterns of errors. From the first release on, keys are only ever added."""

from __future__ import annotations

from .base import Number, OptionalText, Time, WireModel
from .labels import PatternLabelJson
from .rates import EstimateJson


class PatternErrorJson(WireModel):
    """An error of a pattern, at its primary span. `evidence`, `explanation`: their first 2,000 characters."""

    error_id: str
    trace_id: str
    span_id: str
    title: str
    evidence: str
    explanation: str


class SinceJson(WireModel):
    """Since when: a version, or a time where `version` is null; `first` and `last` bound its 95 % interval."""

    version: OptionalText
    time: Time
    first: str
    last: str


class PatternJson(WireModel):
    """Errors of one service that are one thing to fix.

    `state`: new, ongoing, rarer, more frequent, gone or back, as counted, or what people say: acknowledged, resolved,
    ignored. `hits`: runs with it of `units` that were judged in the time asked for; `share`: weighted; `before`: in the
    time four times as long before, null where it was not seen. `quiet`: runs without it since it was last seen;
    `needed`: with so many it is gone. `since`: null, it cannot be told. `series`: shares of 35 periods, of which the
    last 7 are the time asked for. `told`: all of it in a sentence. Of one pattern, not in lists:
    `calibrated`, the share of runs with an error of it that people confirm, or in `uncalibrated` why there is none.
    """

    id: str
    service: str
    kind: str
    about: OptionalText
    told: str
    state: str
    severity: str
    hits: int
    units: int
    share: EstimateJson | None
    before: EstimateJson | None
    p_value: Number
    quiet: int
    needed: int | None
    since: SinceJson | None
    series: list[Number]
    versions: list[str]
    agents: list[str]
    tools: list[str]
    last_seen: Time
    examples: list[PatternErrorJson]
    label: PatternLabelJson | None
    labels: list[PatternLabelJson]
    calibrated: EstimateJson | None
    uncalibrated: OptionalText


class PatternsJson(WireModel):
    """Patterns, the most harmful first: severity times share, more where it grows.

    `left`: beyond the limit; `looked_at`: all, for whose number the tests are corrected; `hidden`: resolved or ignored.
    """

    since: Time
    until: Time
    items: list[PatternJson]
    left: int
    looked_at: int
    hidden: int
    unknown: dict[str, list[str]]
