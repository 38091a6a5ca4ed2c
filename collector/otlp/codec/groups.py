"""OTLP requests as rows (resource header, scope header, item) and back: what splitting and shuffling work on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

Request: TypeAlias = ExportTraceServiceRequest | ExportLogsServiceRequest
Row: TypeAlias = tuple[Any, Any, Any]
"""A ResourceSpans without scopes, a ScopeSpans without spans, a Span; or the same of logs."""


@dataclass(frozen=True, slots=True)
class Signal:
    """The names that differ between the two signals."""

    name: str
    request: type[Request]
    resources: str
    scopes: str
    items: str


SPANS = Signal("spans", ExportTraceServiceRequest, "resource_spans", "scope_spans", "spans")
LOGS = Signal("log records", ExportLogsServiceRequest, "resource_logs", "scope_logs", "log_records")


def signal_of(request: Request) -> Signal:
    """Which signal a request carries."""
    return LOGS if isinstance(request, ExportLogsServiceRequest) else SPANS


def rows(request: Request) -> Iterator[Row]:
    """Every span or log record with its headers (resource, scope, schema addresses), in the request's order."""
    signal = signal_of(request)
    for resource in getattr(request, signal.resources):
        of = _without(resource, signal.scopes)
        for scope in getattr(resource, signal.scopes):
            by = _without(scope, signal.items)
            for item in getattr(scope, signal.items):
                yield of, by, item


def count(request: Request) -> int:
    """How many spans or log records a request holds."""
    signal = signal_of(request)
    return sum(
        len(getattr(scope, signal.items))
        for resource in getattr(request, signal.resources)
        for scope in getattr(resource, signal.scopes)
    )


def group(signal: Signal, items: Iterable[Row]) -> Any:
    """One request of the rows; those of equal headers share a group, in their order."""
    request = signal.request()
    resources: dict[bytes, Any] = {}
    scopes: dict[tuple[bytes, bytes], Any] = {}
    for resource, scope, item in items:
        of, by = resource.SerializeToString(deterministic=True), scope.SerializeToString(deterministic=True)
        if of not in resources:
            resources[of] = getattr(request, signal.resources).add()
            resources[of].CopyFrom(resource)
        if (of, by) not in scopes:
            scopes[of, by] = getattr(resources[of], signal.scopes).add()
            scopes[of, by].CopyFrom(scope)
        getattr(scopes[of, by], signal.items).append(item)
    return request


def _without(header: Any, field: str) -> Any:
    bare = type(header)()
    for descriptor, value in header.ListFields():
        if descriptor.name == field:
            continue
        if descriptor.message_type is None:
            setattr(bare, descriptor.name, value)
        else:
            getattr(bare, descriptor.name).CopyFrom(value)
    return bare
