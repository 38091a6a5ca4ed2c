"""The JSON of error rates. From the first release on, keys are only ever added."""

from __future__ import annotations

from typing_extensions import TypedDict


class EstimateJson(TypedDict):
    """A figure with its 95 % interval."""

    value: float
    low: float
    high: float


class RateJson(TypedDict):
    """Units judged, those of them with at least one error, and errors in all, as counted.

    `share` of units with an error and `mean` errors a unit are weighted, null where nothing was judged; `sampled`: some
    stand for several; `effective`: independent units that would tell as much; `calibrated`: the share corrected by
    human labels, null where it was not asked for or there are too few.
    """

    judged: int
    hits: int
    errors: int
    effective: float
    sampled: bool
    share: EstimateJson | None
    mean: EstimateJson | None
    calibrated: EstimateJson | None


class RateRowJson(RateJson):
    """Of one group ("" where nothing is grouped, or it has no name) from `at` on."""

    key: str
    at: str | None


class RatesJson(TypedDict):
    """`items`: by group, worst first, and point in time; `left`: groups beyond the limit.

    `population`: whose errors were counted; `unjudged`: what of that time stands in no rate, by why; `from_rollups`:
    whether sums were kept of what was asked, or the runs themselves had to be read; `uncalibrated`: why labels correct
    nothing, where that was asked for.
    """

    population: str
    unit: str
    by: str | None
    since: str | None
    until: str | None
    step_seconds: float | None
    total: RateJson
    items: list[RateRowJson]
    left: int
    unjudged: dict[str, int]
    from_rollups: bool
    uncalibrated: str | None


class RatesComparisonJson(TypedDict):
    """Whether `rates` differ from those they are compared `to`: differences are `rates` less `to`.

    `p_value` of no difference of the shares, two-sided; `mean_*` likewise of errors a unit. Null where one of both has
    nothing judged.
    """

    rates: RatesJson
    to: RatesJson
    difference: EstimateJson | None
    p_value: float | None
    mean_difference: EstimateJson | None
    mean_p_value: float | None
