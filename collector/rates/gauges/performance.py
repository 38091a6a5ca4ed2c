"""Latency, tokens, cost and failures for gauges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from tracejury.collector.store.performance import StoredPerformance
from tracejury.schemas.queries.performance import Performance, PerformanceBy, PerformanceQuery, PerformanceUnit

from .rates import ASKED, OTHER, SECOND, WINDOWS, of_services

OPERATIONS: Final = "tracejury_operations"
FAILED: Final = "tracejury_failed_operations"
DURATION: Final = "tracejury_operation_duration_seconds"
TOKENS: Final = "tracejury_tokens"
COST: Final = "tracejury_cost_usd"
UNPRICED: Final = "tracejury_unpriced_calls"

GAUGES: Final[Mapping[str, str]] = {
    OPERATIONS: "Agent runs, LLM calls and tool calls in the window, by service; without one: all",
    FAILED: "Those of them that failed",
    DURATION: "Percentiles of how long they took",
    TOKENS: "Tokens of LLM calls: sent (input), of these from a cache (cached), written (output)",
    COST: "US dollars that LLM calls of known price cost",
    UNPRICED: "LLM calls whose price is not known",
}
"""The gauges with their descriptions."""

Sample = tuple[str, Mapping[str, str], float]
"""A gauge, labels and value."""


def performance_samples(performance: StoredPerformance, now: int) -> list[Sample]:
    """The samples at `now` (unix nanos); asks the store, so it blocks. Raises RetryableError, StoreError."""
    found = list[Sample]()
    for window, length in WINDOWS.items():
        for unit in PerformanceUnit:
            query = PerformanceQuery(now - length, now, by=PerformanceBy.SERVICE, unit=unit, limit=ASKED)
            answer = performance.ask(query)
            shown = of_services((row.key, row.figures.units, row.figures) for row in answer.rows)
            for service, figures in [("", answer.total), *shown]:
                labels = {"service": service, "window": window}
                found += _of_unit(unit, figures, labels)
                found += _of_calls(figures, labels) if unit is PerformanceUnit.LLM_CALL else ()
            if rest := answer.total.units - sum(figures.units for _, figures in shown):
                found.append((OPERATIONS, {"service": OTHER, "window": window, "unit": unit.value}, float(rest)))
    return found


def _of_unit(unit: PerformanceUnit, figures: Performance, labels: Mapping[str, str]) -> Iterator[Sample]:
    own = {**labels, "unit": unit.value}
    yield OPERATIONS, own, float(figures.units)
    yield FAILED, own, float(figures.failed)
    for quantile, nanos in (("0.5", figures.p50), ("0.95", figures.p95), ("0.99", figures.p99)):
        if nanos is not None:
            yield DURATION, {**own, "quantile": quantile}, nanos / SECOND


def _of_calls(figures: Performance, labels: Mapping[str, str]) -> Iterator[Sample]:
    tokens = {"input": figures.input_tokens, "cached": figures.cached_tokens, "output": figures.output_tokens}
    for kind, count in tokens.items():
        yield TOKENS, {**labels, "kind": kind}, float(count)
    yield COST, labels, figures.cost
    yield UNPRICED, labels, float(figures.unpriced)
