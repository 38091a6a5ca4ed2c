"""Metrics of forwarding, by backend."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from opentelemetry.metrics import CallbackOptions, Observation

from tracejury.collector.telemetry import Telemetry, of_project

from .forwarder import Forwarder


def watch_export(telemetry: Telemetry, forwarders: Sequence[tuple[str, Forwarder]]) -> None:
    """Counters and gauges with the label `backend`, read when someone asks. `forwarders`: each with its project."""

    def observe(read: Callable[[Forwarder], float]) -> Callable[[CallbackOptions], Iterable[Observation]]:
        return lambda _options: [
            Observation(read(f), {"backend": f.name, **of_project(project)}) for project, f in forwarders
        ]

    for name, description, read in (
        ("sent_spans", "Spans taken by a backend, carriers included", lambda f: f.counts.sent_spans),
        ("sent_log_records", "Log records and annotations taken by a backend", lambda f: f.counts.sent_records),
        ("failed_spans", "Spans that a backend will never take", lambda f: f.counts.failed_spans),
        ("failed_log_records", "Log records and annotations never taken", lambda f: f.counts.failed_records),
        ("requests", "Requests taken by a backend", lambda f: f.counts.requests),
        ("retried_requests", "Requests that failed for a passing reason", lambda f: f.counts.retries),
        ("split_requests", "Requests refused and sent again in halves", lambda f: f.counts.split),
        ("sent_traces", "Traces passed on, again where something was new", lambda f: f.counts.traces),
        ("sampled_out_traces", "Healthy traces that sampling left out", lambda f: f.counts.sampled_out),
        ("given_up_traces", "Traces that waited too long for a backend", lambda f: f.counts.given_up),
        ("broken_traces", "Traces set aside, named in the log: each try failed", lambda f: f.counts.broken),
        ("store_failures", "Reads and writes of our own store that failed", lambda f: f.store_failures),
    ):
        callback = observe(read)
        telemetry.meter.create_observable_counter(f"tracejury_export_{name}", [callback], description=description)
    gauge = telemetry.meter.create_observable_gauge
    gauge("tracejury_export_queue_traces", [observe(lambda f: len(f.queue))], description="Traces that wait in memory")
    gauge(
        "tracejury_export_up",
        [observe(lambda f: f.is_up())],
        description="1 while a backend takes requests, and our store answers",
    )
    closed = "Kinds of data beside spans that a backend takes none of"
    gauge("tracejury_export_closed_signals", [observe(lambda f: f.delivery.closed())], description=closed)
    gauge(
        "tracejury_export_lag",
        [observe(lambda f: f.lag())],
        unit="s",
        description="From a trace's last judgement to its being passed on; of what fails, so far",
    )
