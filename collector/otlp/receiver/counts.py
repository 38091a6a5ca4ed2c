"""The receivers' counters (metrics.py) as OpenTelemetry instruments."""

from __future__ import annotations

from ...telemetry import Telemetry
from .metrics import COUNTERS


class ReceiverCounts:
    """The receivers' counters (see receiver/metrics.py) on OpenTelemetry instruments."""

    def __init__(self, telemetry: Telemetry) -> None:
        self._counters = {name: telemetry.meter.create_counter(name) for name in COUNTERS}
        for name in COUNTERS:  # alerts look at increases: the first needs a zero before it
            for transport in ("grpc", "http"):
                self.add(name, 0, transport)

    def add(self, name: str, value: int, transport: str) -> None:
        """Add to one of `COUNTERS`."""
        self._counters[name].add(value, {"receiver": "otlp", "transport": transport})
