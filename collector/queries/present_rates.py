"""Error rates as JSON."""

from __future__ import annotations

from ...schemas.rates import Comparison, Estimate, Rate, RateAnswer, RateQuery
from ...schemas.text.moments import iso_time
from ...schemas.wire.rates import EstimateJson, RateJson, RatesComparisonJson, RatesJson


def present_rates(query: RateQuery, answer: RateAnswer) -> RatesJson:
    """The answer to a query."""
    return {
        "population": answer.population.value,
        "unit": query.unit.value,
        "by": query.by.value if query.by else None,
        "since": iso_time(query.since),
        "until": iso_time(query.until),
        "step_seconds": query.step / 1e9 if query.step else None,
        "total": _rate(answer.total),
        "items": [{"key": row.key, "at": iso_time(row.at), **_rate(row.rate)} for row in answer.rows],
        "left": answer.left,
        "unjudged": dict(answer.unjudged.counts),
        "from_rollups": answer.from_rollups,
        "uncalibrated": answer.uncalibrated or None,
    }


def present_comparison(query: RateQuery, to: RateQuery, found: Comparison) -> RatesComparisonJson:
    """How `query`, the second of what was compared, differs from `to`."""
    return {
        "rates": present_rates(query, found.b),
        "to": present_rates(to, found.a),
        "difference": _estimate(found.difference),
        "p_value": found.p_value,
        "mean_difference": _estimate(found.mean_difference),
        "mean_p_value": found.mean_p_value,
    }


def _rate(rate: Rate) -> RateJson:
    return {
        "judged": rate.judged,
        "hits": rate.hits,
        "errors": rate.errors,
        "effective": rate.effective,
        "sampled": rate.sampled,
        "share": _estimate(rate.share),
        "mean": _estimate(rate.mean),
        "calibrated": _estimate(rate.calibrated),
    }


def _estimate(estimate: Estimate | None) -> EstimateJson | None:
    if estimate is None:
        return None
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high}
