"""Self-telemetry: every metric is declared here once, named as the OpenTelemetry Collector names its own.

The OpenTelemetry SDK keeps them; `Telemetry.prometheus()` renders them for `/metrics`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.resources import Resource
from prometheus_client import CollectorRegistry, generate_latest

from ..schemas.trajectory import TraceState
from ..schemas.verdicts import JudgedTrace

NANOS: Final = 1e9


class Telemetry:
    """All instruments of one collector, on a registry of its own."""

    def __init__(self, version: str) -> None:
        self._registry = CollectorRegistry()
        reader = PrometheusMetricReader(disable_target_info=True, scope_info_enabled=False, registry=self._registry)
        resource = Resource.create({"service.name": "tracejury", "service.version": version})
        self._provider = MeterProvider(metric_readers=[reader], resource=resource, shutdown_on_exit=False)
        self.meter = self._provider.get_meter("tracejury", version)

    def gauge(self, name: str, description: str, read: Callable[[], float], unit: str = "1") -> None:
        """A gauge that is read when someone asks."""
        self.meter.create_observable_gauge(name, callbacks=[observe(read)], description=description, unit=unit)

    def counter(self, name: str, description: str, read: Callable[[], float], unit: str = "1") -> None:
        """A counter kept elsewhere, read when someone asks."""
        self.meter.create_observable_counter(name, callbacks=[observe(read)], description=description, unit=unit)

    def prometheus(self) -> bytes:
        """The metrics as Prometheus text."""
        return generate_latest(self._registry)

    def shutdown(self) -> None:
        """Release the reader."""
        self._provider.shutdown()


def observe(read: Callable[[], float]) -> Callable[[CallbackOptions], Iterable[Observation]]:
    """An OpenTelemetry callback around a plain function."""
    return lambda _options: [Observation(read())]


class JudgingMetrics:
    """Counts of the judging thread."""

    def __init__(self, telemetry: Telemetry) -> None:
        meter = telemetry.meter
        # Judgings, by the state of the trace: an open trace is judged several times.
        self._judged = meter.create_counter("judge_judged_traces", description="Traces judged, by state")
        self._failed = meter.create_counter("judge_failed_traces", description="Traces that could not be judged")
        # Findings as they are first written, change or are taken back.
        self._found = meter.create_counter("judge_findings", description="Findings written, by severity")
        self._retracted = meter.create_counter("judge_retracted_findings", description="Findings taken back")
        # The evidence gate: a claim whose quote stands nowhere is no finding.
        self._dropped = meter.create_counter("judge_dropped_drafts", description="Claims without evidence in the span")
        self._rule_failures = meter.create_counter("judge_detector_failures", description="Detectors that raised")
        self._cost = meter.create_histogram("judge_duration", unit="s", description="Rebuilding and judging one trace")
        # What a user waits for: from the commit of a trace's newest span to its findings being readable.
        self._delay = meter.create_histogram("judge_delay", unit="s", description="From commit to readable findings")

    def judged(self, judged: JudgedTrace, cost: int) -> None:
        """A trace was judged, in `cost` nanoseconds."""
        self._judged.add(1, {"state": judged.trace.state.value})
        self._cost.record(cost / NANOS)
        self._dropped.add(judged.judgement.dropped)
        for detector, _why in judged.judgement.failures:
            self._rule_failures.add(1, {"detector": detector})
        for finding in judged.changed:
            self._found.add(1, {"severity": finding.severity.value})
        self._retracted.add(len(judged.retracted))

    def saved(self, judged: Sequence[JudgedTrace], now: int) -> None:
        """These are readable since `now` (unix nanos)."""
        for one in judged:
            if one.trace.state is TraceState.OPEN:
                self._delay.record(max(now - one.trace.received_through, 0) / NANOS)

    def failed_trace(self) -> None:
        """A trace could not be judged or its outcome not be stored."""
        self._failed.add(1)
