"""Error rates as models of the API."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tracejury.schemas.rates import RateAnswer, RateComparison, RateQuery
from tracejury.schemas.wire.base import fill
from tracejury.schemas.wire.rates import RateRowJson, RatesComparisonJson, RatesJson

Unknown = Callable[[RateQuery, RateAnswer], Mapping[str, Sequence[str]]]
"""The unknown names that a query filters by, with known ones, where that is why its answer has no errors."""


def present_rates(query: RateQuery, answer: RateAnswer, unknown: Unknown) -> RatesJson:
    """The answer to a query."""
    return fill(
        RatesJson,
        answer,
        unit=query.unit,
        by=query.by,
        simulated=query.simulated,
        since=query.since,
        until=query.until,
        step_seconds=query.step / 1e9 if query.step else None,
        items=[fill(RateRowJson, row.rate, key=row.key, at=row.at) for row in answer.rows],
        unjudged=answer.unjudged.counts,
        unknown=unknown(query, answer),
    )


def present_comparison(query: RateQuery, to: RateQuery, found: RateComparison, unknown: Unknown) -> RatesComparisonJson:
    """How `query`, the second of what was compared, differs from `to`."""
    return fill(
        RatesComparisonJson, found, rates=present_rates(query, found.b, unknown), to=present_rates(to, found.a, unknown)
    )
