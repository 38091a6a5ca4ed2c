"""Error rates for gauges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from tracejury.collector.queries.reader import Rates
from tracejury.schemas.rates import By, RateAnswer, RateQuery
from tracejury.schemas.text.naming import shortened

SECOND: Final = 1_000_000_000
WINDOWS: Final[Mapping[str, int]] = {"1h": 3600 * SECOND, "24h": 24 * 3600 * SECOND}
"""Lengths of time, back from now, by their label."""
SERVICES: Final = 50
"""Services with series of their own: those with the most judged runs."""
OTHER, UNNAMED = "other", "unnamed"
"""Of services beyond these, and of spans that name none: no service of such a name has series of its own."""
ASKED: Final = 1000

Figures = TypeVar("Figures")
Labels = tuple[str, str]
"""Service ("" for all together) and window."""


@dataclass(frozen=True, slots=True)
class RateFigures:
    """By service and window: judged runs, and the share of them with an error with its interval, where one is known."""

    judged: Mapping[Labels, float]
    share: Mapping[Labels, float]
    low: Mapping[Labels, float]
    high: Mapping[Labels, float]


def rate_figures(rates: Rates, now: int) -> RateFigures:
    """The figures at `now` (unix nanos); asks the store, so it blocks.

    Raises:
        RetryableError, StoreError: the store failed.
    """
    figures = RateFigures({}, {}, {}, {})
    for window, length in WINDOWS.items():
        answer = rates.ask(RateQuery(now - length, now, by=By.SERVICE, limit=ASKED))
        for (service, of), value in _of(answer):
            kind: dict[Labels, float] = getattr(figures, of)
            kind[service, window] = value
    return figures


def _of(answer: RateAnswer) -> Iterable[tuple[tuple[str, str], float]]:
    """((service, field of RateFigures), value) of one answer."""
    shown = of_services((row.key, row.rate.judged, row.rate) for row in answer.rows)
    rest = answer.total.judged - sum(rate.judged for _, rate in shown)
    if rest > 0:
        yield (OTHER, "judged"), float(rest)
    for service, rate in [("", answer.total), *shown]:
        yield (service, "judged"), float(rate.judged)
        if rate.share is not None:
            yield (service, "share"), rate.share.value
            yield (service, "low"), rate.share.low
            yield (service, "high"), rate.share.high


def of_services(groups: Iterable[tuple[str, int, Figures]]) -> list[tuple[str, Figures]]:
    """The services with series of their own, from (name, runs, figures) of all.

    Of several names that are shortened to one, the one with most runs keeps it.
    """
    own: dict[str, Figures] = {}
    for key, _, figures in sorted(groups, key=lambda group: (-group[1], group[0])):
        if key not in {OTHER, UNNAMED}:
            own.setdefault(shortened(key) or UNNAMED, figures)
    return list(own.items())[:SERVICES]
