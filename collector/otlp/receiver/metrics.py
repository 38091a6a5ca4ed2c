"""What the receivers count, named as the OpenTelemetry Collector names it. Every count has the label `transport`."""

from __future__ import annotations

from collections import Counter
from typing import Final, Protocol

from ..codec.signals import Signal

ITEMS: Final = {Signal.TRACES: "spans", Signal.LOGS: "log_records", Signal.METRICS: "metric_points"}

ACCEPTED: Final = "otelcol_receiver_accepted_"
"""+ items: acknowledged; spans and log records are committed, metric points are discarded."""
REFUSED: Final = "otelcol_receiver_refused_"
"""+ items: decoded, but the store did not take them; the client was told whether to try again."""
FAILED: Final = "otelcol_receiver_failed_"
"""+ items: invalid, so rejected for good (partial success)."""
REFUSED_REQUESTS: Final = "otelcol_receiver_refused_requests"
"""Requests answered with an error, whatever the reason and however many items they held."""
CUT_VALUES: Final = "otelcol_receiver_cut_values"
"""Attributes, events, links and texts that a limit shortened or dropped."""

COUNTERS: Final = (
    *(prefix + items for prefix in (ACCEPTED, REFUSED, FAILED) for items in ITEMS.values()),
    REFUSED_REQUESTS,
    CUT_VALUES,
)


class ReceiverMetrics(Protocol):
    """Where the counts go; called on the event loop."""

    def add(self, name: str, value: int, transport: str) -> None:
        """Add to one of `COUNTERS`; `transport` is "grpc" or "http"."""


class MemoryMetrics:
    """Keeps the counts in a dict, by (name, transport)."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()

    def add(self, name: str, value: int, transport: str) -> None:
        """Add to a count."""
        self.counts[name, transport] += value
