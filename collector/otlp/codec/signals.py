"""The signals of OTLP: their messages, their service, and the names of their fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

_PACKAGE: Final = "opentelemetry.proto.collector"


class Signal(StrEnum):
    """A signal, named as in the path of its HTTP endpoint."""

    TRACES = "traces"
    LOGS = "logs"
    METRICS = "metrics"


class Encoding(StrEnum):
    """The encoding of a request's body."""

    PROTOBUF = "protobuf"
    JSON = "json"

    @property
    def media_type(self) -> str:
        """The content type of such a body over HTTP."""
        return "application/json" if self is Encoding.JSON else "application/x-protobuf"


@dataclass(frozen=True, slots=True)
class SignalSchema:
    """The messages and field names of one signal. `noun`: its items in the plural, for people."""

    signal: Signal
    noun: str
    service: str
    request: type[Any]
    response: type[Any]
    resources: str
    scopes: str
    items: str
    rejected: str


SPANS: Final = SignalSchema(
    Signal.TRACES,
    "spans",
    f"{_PACKAGE}.trace.v1.TraceService",
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
    "resource_spans",
    "scope_spans",
    "spans",
    "rejected_spans",
)
LOGS: Final = SignalSchema(
    Signal.LOGS,
    "log records",
    f"{_PACKAGE}.logs.v1.LogsService",
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
    "resource_logs",
    "scope_logs",
    "log_records",
    "rejected_log_records",
)
METRICS: Final = SignalSchema(
    Signal.METRICS,
    "data points",
    f"{_PACKAGE}.metrics.v1.MetricsService",
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
    "resource_metrics",
    "scope_metrics",
    "metrics",
    "rejected_data_points",
)
SCHEMAS: Final[Mapping[Signal, SignalSchema]] = {schema.signal: schema for schema in (SPANS, LOGS, METRICS)}
