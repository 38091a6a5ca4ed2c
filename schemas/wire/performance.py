"""The JSON of latency, tokens, cost and failures. From the first release on, keys are only ever added."""

from __future__ import annotations

from .base import Number, OptionalText, Time, WireModel
from .rates import EstimateJson, RateGroupJson


class PerformanceFiguresJson(WireModel):
    """`units` ran, `failed` of them with an error status; `failed_share` with Wilson's interval, null where none ran.

    `p50_seconds`, `p95_seconds`, `p99_seconds`: exact percentiles of their durations, null where none is known. Tokens
    are sums of the LLM calls in them; `cached_tokens` are part of `input_tokens`, and `cached_share` the share that
    they are. `usd`: what the calls of known price cost; `unpriced`: calls whose price is not known.
    """

    units: int
    failed: int
    failed_share: EstimateJson | None
    p50_seconds: Number | None
    p95_seconds: Number | None
    p99_seconds: Number | None
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cached_share: Number | None
    usd: Number
    unpriced: int


class PerformanceRowJson(PerformanceFiguresJson, RateGroupJson):
    """Of one group ("" where nothing is grouped, or it has no name) from `at` on."""


class PerformanceJson(WireModel):
    """`items`: by group, that with the most units first, and point in time; `left`: groups beyond the limit.

    `unmeasured`: traces of that time, service and version without figures: they wait to be judged, could not be, or
    were judged by an earlier version. `unknown`, where nothing ran, as in a page of traces. `simulated`: of simulated
    sessions instead of real ones.
    """

    unit: str
    by: OptionalText
    simulated: bool
    since: Time
    until: Time
    step_seconds: Number | None
    total: PerformanceFiguresJson
    items: list[PerformanceRowJson]
    left: int
    unmeasured: int
    unknown: dict[str, list[str]]
