"""Error rates for gauges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from tracejury.collector.queries.reader import Rates
from tracejury.schemas.rates import By, Rate, RateAnswer, RateQuery
from tracejury.schemas.text.naming import shortened

SECOND: Final = 1_000_000_000
WINDOWS: Final[Mapping[str, int]] = {"1h": 3600 * SECOND, "24h": 24 * 3600 * SECOND}
"""Lengths of time, back from now, by their label."""
SERVICES: Final = 50
"""Services with series of their own: those with the most judged runs."""
OTHER, UNNAMED = "other", "unnamed"
"""Of services beyond these, and of spans that name none: no service of such a name has series of its own."""
_ASKED: Final = 1000

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
        answer = rates.ask(RateQuery(now - length, now, by=By.SERVICE, limit=_ASKED))
        for (service, of), value in _of(answer):
            kind: dict[Labels, float] = getattr(figures, of)
            kind[service, window] = value
    return figures


def _of(answer: RateAnswer) -> Iterable[tuple[tuple[str, str], float]]:
    """((service, field of RateFigures), value) of one answer."""
    ranked = sorted(answer.rows, key=lambda row: (-row.rate.judged, row.key))
    own: dict[str, Rate] = {}  # of several names that are shortened to one, the one with most runs keeps it
    for row in ranked:
        if row.key not in {OTHER, UNNAMED}:
            own.setdefault(shortened(row.key) or UNNAMED, row.rate)
    shown = list(own.items())[:SERVICES]
    rest = answer.total.judged - sum(rate.judged for _, rate in shown)
    if rest > 0:
        yield (OTHER, "judged"), float(rest)
    for service, rate in [("", answer.total), *shown]:
        yield (service, "judged"), float(rate.judged)
        if rate.share is not None:
            yield (service, "share"), rate.share.value
            yield (service, "low"), rate.share.low
            yield (service, "high"), rate.share.high
