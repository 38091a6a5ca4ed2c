"""Counters of the receivers, named as in the OpenTelemetry Collector. Every count has the label `transport`."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Final

from opentelemetry.metrics import CallbackOptions, Observation

from tracejury.collector.otlp.codec.signals import Signal
from tracejury.collector.telemetry import Telemetry

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


_TRANSPORTS: Final = ("grpc", "http", "kafka")


class ReceiverMetrics:
    """Counts by (name, transport); added to on the event loop."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()

    def add(self, name: str, value: int, transport: str) -> None:
        """Add to one of `COUNTERS`; `transport` is one of `_TRANSPORTS`."""
        self.counts[name, transport] += value

    def watch(self, telemetry: Telemetry) -> None:
        """Show the counts as OpenTelemetry counters, zeros included: alerts look at increases."""
        for name in COUNTERS:
            telemetry.meter.create_observable_counter(name, callbacks=[partial(self._observe, name)])

    def _observe(self, name: str, _options: CallbackOptions) -> list[Observation]:
        return [
            Observation(self.counts[name, transport], {"receiver": "otlp", "transport": transport})
            for transport in _TRANSPORTS
        ]
