"""Self-telemetry: every metric is declared once, here or in receiver/metrics.py.

What the OpenTelemetry Collector counts as well has its name (`otelcol_receiver_…`, `otelcol_exporter_…`), so that
dashboards for it work; the rest is `tracejury_…`. The OpenTelemetry SDK keeps them all.
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
from .judging.detect.inbox import Inbox
from .judging.detect.judging import Judging
from .otlp.receiver.metrics import COUNTERS
from .store.writer import GroupCommitWriter

NANOS: Final = 1e9
SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Bucket boundaries of durations."""


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
        self._judged = meter.create_counter("tracejury_judge_judged_traces", description="Traces judged, by state")
        self._failed = meter.create_counter(
            "tracejury_judge_failed_traces", description="Traces that could not be judged"
        )
        # Findings as they are first written, change or are taken back.
        self._found = meter.create_counter("tracejury_judge_findings", description="Findings written, by severity")
        self._retracted = meter.create_counter("tracejury_judge_retracted_findings", description="Findings taken back")
        # The evidence gate: a claim whose quote stands nowhere is no finding.
        self._dropped = meter.create_counter(
            "tracejury_judge_dropped_drafts", description="Claims without evidence in the span"
        )
        self._rule_failures = meter.create_counter(
            "tracejury_judge_detector_failures", description="Detectors that raised"
        )
        self._cost = meter.create_histogram(
            "tracejury_judge_duration",
            unit="s",
            description="Rebuilding and judging one trace",
            explicit_bucket_boundaries_advisory=SECONDS,
        )
        # What a user waits for: from the commit of a trace's newest span to its findings being readable.
        self._delay = meter.create_histogram(
            "tracejury_judge_delay",
            unit="s",
            description="From commit to readable findings",
            explicit_bucket_boundaries_advisory=SECONDS,
        )

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


def watch(telemetry: Telemetry, writer: GroupCommitWriter, inbox: Inbox, judging: Judging) -> None:
    """Gauges and counters that are kept elsewhere and read when someone asks."""
    counts, open_traces = writer.counters, judging.assembler
    counter, gauge = telemetry.counter, telemetry.gauge
    counter("otelcol_exporter_sent_spans", "Spans committed to the store", lambda: counts.committed_spans)
    counter("otelcol_exporter_sent_log_records", "Log records committed", lambda: counts.committed_logs)
    counter("tracejury_store_groups", "Inserts, each shared by the requests that waited", lambda: counts.groups)
    counter(
        "tracejury_store_failed_groups", "Inserts that failed and were retried or split", lambda: counts.failed_groups
    )
    counter("tracejury_store_refused_requests", "Requests told to try again", lambda: counts.refused_batches)
    counter("tracejury_store_failed_requests", "Requests that can never be stored", lambda: counts.failed_batches)
    counter("tracejury_store_dead_letters", "Requests kept in the dead-letter folder", lambda: counts.dead_lettered)
    gauge("otelcol_exporter_queue_size", "Requests that wait for the store", lambda: writer.queue_batches)
    gauge("tracejury_store_queue_bytes", "Bytes that wait for the store", lambda: writer.queue_bytes, "By")
    gauge("tracejury_judge_inbox_bytes", "Committed bytes that wait for judging", lambda: inbox.queued_bytes, "By")
    counter("tracejury_judge_spilled_requests", "Requests to be read back for judging", lambda: inbox.spilled)
    gauge("tracejury_judge_open_traces", "Traces that may still change", lambda: len(open_traces))
    gauge("tracejury_judge_held_bytes", "Bytes of open traces in memory", lambda: open_traces.held_bytes, "By")
    counter("tracejury_judge_left_out_spans", "Spans beyond the limit of their trace", lambda: open_traces.over_limit)
    counter("tracejury_judge_forgotten_traces", "Open traces left to the next sweep", lambda: open_traces.forgotten)
