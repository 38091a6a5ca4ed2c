"""Self-telemetry on the OpenTelemetry SDK.

Metrics that the OpenTelemetry Collector has, too, bear its names (`otelcol_receiver_…`, `otelcol_exporter_…`), so that
its dashboards work; all others begin with `tracejury_`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.metrics import CallbackOptions, Histogram, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.resources import Resource
from prometheus_client import CollectorRegistry, Metric, generate_latest
from prometheus_client.registry import Collector

NANOS: Final = 1e9
SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Bucket boundaries of durations."""

OWNED: Final = frozenset({"service", "webhook", "backend", "rule"})
"""Labels that name something of a project."""


class Telemetry:
    """All instruments of one collector, on a registry of its own."""

    def __init__(self, version: str) -> None:
        self._registry = CollectorRegistry()
        reader = PrometheusMetricReader(disable_target_info=True, scope_info_enabled=False, registry=self._registry)
        resource = Resource.create({"service.name": "tracejury", "service.version": version})
        self._provider = MeterProvider(metric_readers=[reader], resource=resource, shutdown_on_exit=False)
        self.meter = self._provider.get_meter("tracejury", version)

    def durations(self, name: str, description: str) -> Histogram:
        """A histogram of seconds."""
        return self.meter.create_histogram(
            name, unit="s", description=description, explicit_bucket_boundaries_advisory=SECONDS
        )

    def gauge(self, name: str, description: str, read: Callable[[], float], unit: str = "1") -> None:
        """Add a gauge that is read at each collection."""
        self.meter.create_observable_gauge(name, callbacks=[observe(read)], description=description, unit=unit)

    def counter(self, name: str, description: str, read: Callable[[], float], unit: str = "1") -> None:
        """Add a counter that is kept elsewhere and read at each collection."""
        self.meter.create_observable_counter(name, callbacks=[observe(read)], description=description, unit=unit)

    def prometheus(self, project: str = "") -> bytes:
        """The metrics as Prometheus text, without those of another project."""
        return generate_latest(_OfProject(self._registry, project))

    def shutdown(self) -> None:
        """Release the reader."""
        self._provider.shutdown()


def of_project(project: str) -> Mapping[str, str]:
    """The label of a project; the default one has none."""
    return {"project": project} if project else {}


class _OfProject(Collector):
    """What a registry collects, without the samples of other projects."""

    def __init__(self, registry: CollectorRegistry, project: str) -> None:
        self._registry, self._project = registry, project

    def collect(self) -> Iterator[Metric]:
        """The metrics of the project, and those of the whole process."""
        for metric in self._registry.collect():
            metric.samples = [s for s in metric.samples if self._is_shown(s.labels)]
            yield metric

    def _is_shown(self, labels: Mapping[str, str]) -> bool:
        # What is of a project and names none is of the default one; all else is of the process.
        return labels.get("project", "" if OWNED & labels.keys() else self._project) == self._project


def observe(read: Callable[[], float]) -> Callable[[CallbackOptions], Iterable[Observation]]:
    """An OpenTelemetry callback around a plain function."""
    return lambda _options: [Observation(read())]
