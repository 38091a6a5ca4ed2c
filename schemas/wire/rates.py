"""The JSON of error rates. From the first release on, keys are only ever added."""

from __future__ import annotations

from .base import Number, OptionalText, Time, WireModel


class EstimateJson(WireModel):
    """A figure with its 95 % interval."""

    value: Number
    low: Number
    high: Number


class RateJson(WireModel):
    """Units judged, those of them with at least one error, and errors in all, as counted.

    `share` of units with an error and `mean` errors a unit are weighted, null where nothing was judged; `sampled`: some
    stand for several; `effective`: independent units that would tell as much; `calibrated`: the share corrected by
    human labels, null where it was not asked for or there are too few.
    """

    judged: int
    hits: int
    errors: int
    effective: Number
    sampled: bool
    share: EstimateJson | None
    mean: EstimateJson | None
    calibrated: EstimateJson | None


class RateGroupJson(WireModel):
    """A group ("" where nothing is grouped, or it has no name) from `at` on."""

    key: str
    at: Time


class RateRowJson(RateJson, RateGroupJson):
    """Of one group ("" where nothing is grouped, or it has no name) from `at` on."""


class JudgedTracesJson(WireModel):
    """Traces that arrived: how many judges looked at, and how many not by why (see `TraceRowJson`)."""

    judged: int
    not_judged: dict[str, int]


class RatesJson(WireModel):
    """`items`: by group, worst first, and point in time; `left`: groups beyond the limit.

    `population`: whose errors were counted; `unjudged`: what of that time stands in no rate, by why; `from_rollups`:
    always false, for no sums are kept; `uncalibrated`: why labels correct
    nothing, where that was asked for; `unknown`, where no error was found, as in a page of traces.

    `traces`: those of the time, the service and `simulated` alone, whatever other filters there are.
    `simulated`: of simulated sessions instead of real ones. By behaviour a unit counts in each behaviour of its users
    ("": nobody labelled them), so that the items add up to more than `total`.
    """

    population: str
    unit: str
    by: OptionalText
    simulated: bool
    since: Time
    until: Time
    step_seconds: Number | None
    total: RateJson
    items: list[RateRowJson]
    left: int
    unjudged: dict[str, int]
    from_rollups: bool
    uncalibrated: OptionalText
    unknown: dict[str, list[str]]
    traces: JudgedTracesJson = JudgedTracesJson(judged=0, not_judged={})


class RatesComparisonJson(WireModel):
    """Whether `rates` differ from those they are compared `to`: differences are `rates` less `to`.

    `p_value` of no difference of the shares, two-sided; `mean_*` likewise of errors a unit. Null where one of both has
    nothing judged.
    """

    rates: RatesJson
    to: RatesJson
    difference: EstimateJson | None
    p_value: Number | None
    mean_difference: EstimateJson | None
    mean_p_value: Number | None
