"""What clients are told when we cannot take more, and what we count."""

from __future__ import annotations

import asyncio

import grpc
import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter
from otlp_clients import Client
from otlp_parts import RecordingSink, logs, span, spans, traces

from tracejury.collector.otlp.receiver.intake import Intake
from tracejury.collector.otlp.receiver.metrics import COUNTERS, ReceiverMetrics
from tracejury.schemas.config_base import MIB
from tracejury.schemas.errors import OverloadedError, PermanentError, RetryableError

CODES = {
    "ok": {"grpc": "OK", "http": "200", "json": "200"},
    "retryable": {"grpc": "UNAVAILABLE", "http": "503", "json": "503"},
    "permanent": {"grpc": "INVALID_ARGUMENT", "http": "400", "json": "400"},
}


@pytest.mark.parametrize(
    ("error", "code", "retry"),
    [
        (OverloadedError("the disk is nearly full", retry_after=30), "retryable", 30),
        (RetryableError("the store is away", retry_after=2), "retryable", 2),
        (PermanentError("never"), "permanent", None),
        (ConnectionError("of the sink's own"), "retryable", 1),
    ],
    ids=["overloaded", "retryable", "permanent", "unforeseen"],
)
async def test_the_sinks_errors_reach_the_client(
    client: Client, sink: RecordingSink, error: Exception, code: str, retry: float | None
) -> None:
    """With the time after which to try again; the next request is taken."""
    sink.errors = [error]
    answer = await client.send(traces(span()))
    assert (answer.code, answer.retry) == (CODES[code][client.protocol], retry)
    assert sink.spans == []
    assert (await client.send(traces(span()))).ok


async def test_the_bound_is_one_for_all_receivers(
    grpc_port: int, http_port: int, intake: Intake, sink: RecordingSink
) -> None:
    """What one holds, the other cannot have."""
    sink.hold()
    waiting = asyncio.create_task(Client("grpc", grpc_port).send(traces(span())))
    await sink.until_waiting(1)
    assert intake.inflight.requests == 1
    held = intake.inflight.bytes
    assert held == len(traces(span()).SerializeToString())
    with intake.inflight.request(256 * MIB - held):
        for client in (Client("grpc", grpc_port), Client("http", http_port)):
            assert (await client.send(traces(span()))).code == CODES["retryable"][client.protocol]
    sink.release()
    assert (await waiting).ok


async def test_counts(client: Client, sink: RecordingSink, metrics: ReceiverMetrics) -> None:
    """Accepted, refused and failed items, requests answered with an error, and metrics discarded, by transport."""
    await client.send(traces(*spans(1, 2, 0)))
    await client.send(logs(LogRecord(), LogRecord(trace_id=b"x")), "logs")
    request = ExportMetricsServiceRequest()
    metric = request.resource_metrics.add().scope_metrics.add().metrics.add()
    metric.sum.data_points.add(as_int=1)
    metric.sum.data_points.add(as_int=2)
    assert (await client.send(request, "metrics")).ok
    sink.errors = [RetryableError("later")]
    await client.send(traces(*spans(1, 2, 3)))
    await client.send_bytes(b"\xff")
    transport = "grpc" if client.protocol == "grpc" else "http"
    assert metrics.counts == {
        ("otelcol_receiver_accepted_spans", transport): 2,
        ("otelcol_receiver_failed_spans", transport): 1,
        ("otelcol_receiver_accepted_log_records", transport): 1,
        ("otelcol_receiver_failed_log_records", transport): 1,
        ("otelcol_receiver_accepted_metric_points", transport): 2,
        ("otelcol_receiver_refused_spans", transport): 3,
        ("otelcol_receiver_refused_requests", transport): 2,
    }
    assert {name for name, _ in metrics.counts} <= set(COUNTERS)
    assert len(sink.batches) == 2


def test_every_counter_is_declared_once() -> None:
    """Dashboards rely on the names."""
    assert len(set(COUNTERS)) == len(COUNTERS) == 11


@pytest.mark.parametrize("compression", ["none", "gzip"])
@pytest.mark.parametrize("protocol", ["grpc", "http"])
async def test_the_opentelemetry_sdk_retries_until_its_span_is_stored(
    protocol: str, compression: str, grpc_port: int, http_port: int, sink: RecordingSink
) -> None:
    """Real exporters, refused once retryably, send the same span again and lose nothing."""
    sink.errors = [RetryableError("the store is away", retry_after=0.01)]
    await asyncio.to_thread(_export, _exporter(protocol, compression, grpc_port, http_port))
    (kept,) = sink.spans
    assert (kept.name, kept.attributes["messages"], kept.attribute_types["messages"]) == ("chat", '["a","b"]', "array")
    assert [event.name for event in kept.events] == ["done"]


def _export(exporter: SpanExporter) -> None:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with provider.get_tracer("tests").start_as_current_span("chat") as active:
        active.set_attribute("messages", ["a", "b"])
        active.add_event("done")
    provider.shutdown()


def _exporter(protocol: str, compression: str, grpc_port: int, http_port: int) -> SpanExporter:
    if protocol == "grpc":
        kind = grpc.Compression.Gzip if compression == "gzip" else grpc.Compression.NoCompression
        return GrpcExporter(endpoint=f"http://127.0.0.1:{grpc_port}", insecure=True, compression=kind)
    from opentelemetry.exporter.otlp.proto.http import Compression

    return HttpExporter(f"http://127.0.0.1:{http_port}/v1/traces", compression=Compression(compression))
