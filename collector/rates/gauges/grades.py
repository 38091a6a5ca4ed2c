"""Grades of agent runs for gauges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from tracejury.collector.queries.measures import StoredMeasures
from tracejury.schemas.queries.measures import MeasureQuery

from .rates import ASKED, WINDOWS, of_services

WINDOW: Final = "24h"
"""The window of grades: judges look at few runs an hour."""

Labels = tuple[str, str]
"""Service ("" for all together) and measure."""


@dataclass(frozen=True, slots=True)
class GradeFigures:
    """By service and measure: graded runs, their mean grade with its interval, and 0s without a standing finding."""

    runs: dict[Labels, float] = field(default_factory=dict)
    mean: dict[Labels, float] = field(default_factory=dict)
    low: dict[Labels, float] = field(default_factory=dict)
    high: dict[Labels, float] = field(default_factory=dict)
    ungrounded: dict[Labels, float] = field(default_factory=dict)

    def of(self, kind: str) -> Mapping[Labels, float]:
        """The figures of a field's name."""
        found: Mapping[Labels, float] = getattr(self, kind)
        return found


def grade_figures(measures: StoredMeasures, now: int) -> GradeFigures:
    """The figures at `now` (unix nanos); asks the store, so it blocks. Raises RetryableError, StoreError."""
    answer = measures.grades(MeasureQuery(now - WINDOWS[WINDOW], now, by="service", limit=ASKED))
    found = GradeFigures()
    shown = of_services((row.key, row.sessions, row.figures) for row in answer.rows)
    for service, figures in [("", answer.total.figures), *shown]:
        for one in figures:
            if one.estimate:
                at = service, one.measure.letter
                found.runs[at], found.ungrounded[at] = one.n, one.ungrounded
                found.mean[at], found.low[at], found.high[at] = (
                    one.estimate.value, one.estimate.low, one.estimate.high,
                )  # fmt: skip
    return found
