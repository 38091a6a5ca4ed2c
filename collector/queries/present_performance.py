"""Latency, tokens, cost and failures as their models, with the shares that follow from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tracejury.judges.measures.wilson import wilson_of
from tracejury.schemas.queries.performance import Performance, PerformanceAnswer, PerformanceQuery
from tracejury.schemas.rates import Estimate
from tracejury.schemas.wire.base import fill
from tracejury.schemas.wire.performance import PerformanceFiguresJson, PerformanceJson, PerformanceRowJson

SECOND: Final = 1e9


def failed_share(figures: Performance) -> Estimate | None:
    """The share of units that failed, with Wilson's interval; None where none ran."""
    if not figures.units:
        return None
    share = figures.failed / figures.units
    return Estimate(share, *wilson_of(share, figures.units))


def cached_share(figures: Performance) -> float | None:
    """The share of the tokens sent that came from a provider's cache; None where none was sent."""
    return figures.cached_tokens / figures.input_tokens if figures.input_tokens else None


def present_performance(
    query: PerformanceQuery, answer: PerformanceAnswer, unknown: Mapping[str, Sequence[str]]
) -> PerformanceJson:
    """The answer to a query."""
    return fill(
        PerformanceJson,
        answer,
        unit=query.unit,
        by=query.by,
        simulated=query.simulated,
        since=query.since,
        until=query.until,
        step_seconds=query.step / SECOND if query.step else None,
        total=fill(PerformanceFiguresJson, answer.total, **_derived(answer.total)),
        items=[
            fill(PerformanceRowJson, row.figures, key=row.key, at=row.at, **_derived(row.figures))
            for row in answer.rows
        ],
        unknown=unknown,
    )


def _derived(figures: Performance) -> dict[str, Any]:
    percentiles = {name: getattr(figures, name) for name in ("p50", "p95", "p99")}
    return {
        **{f"{name}_seconds": nanos and nanos / SECOND for name, nanos in percentiles.items()},
        "failed_share": failed_share(figures),
        "cached_share": cached_share(figures),
        "usd": figures.cost,
    }
