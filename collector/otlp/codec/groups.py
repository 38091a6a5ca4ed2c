"""OTLP requests as rows (resource header, scope header, item) and back, to split and shuffle them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from .signals import LOGS, SPANS, SignalSchema

Request: TypeAlias = ExportTraceServiceRequest | ExportLogsServiceRequest
Row: TypeAlias = tuple[Any, Any, Any]
"""A ResourceSpans without scopes, a ScopeSpans without spans, a Span; or the same of logs."""


def schema_of(request: Request) -> SignalSchema:
    """The schema of a request's signal."""
    return LOGS if isinstance(request, ExportLogsServiceRequest) else SPANS


def rows(request: Request) -> Iterator[Row]:
    """Every span or log record with its headers (resource, scope, schema addresses), in the request's order."""
    schema = schema_of(request)
    for resource in getattr(request, schema.resources):
        of = _without(resource, schema.scopes)
        for scope in getattr(resource, schema.scopes):
            by = _without(scope, schema.items)
            for item in getattr(scope, schema.items):
                yield of, by, item


def count(request: Request) -> int:
    """How many spans or log records a request holds."""
    schema = schema_of(request)
    return sum(
        len(getattr(scope, schema.items))
        for resource in getattr(request, schema.resources)
        for scope in getattr(resource, schema.scopes)
    )


def group(schema: SignalSchema, items: Iterable[Row]) -> Any:
    """One request of the rows; those of equal headers share a group, in their order."""
    request = schema.request()
    resources: dict[bytes, Any] = {}
    scopes: dict[tuple[bytes, bytes], Any] = {}
    for resource, scope, item in items:
        of, by = resource.SerializeToString(deterministic=True), scope.SerializeToString(deterministic=True)
        if of not in resources:
            resources[of] = getattr(request, schema.resources).add()
            resources[of].CopyFrom(resource)
        if (of, by) not in scopes:
            scopes[of, by] = getattr(resources[of], schema.scopes).add()
            scopes[of, by].CopyFrom(scope)
        getattr(scopes[of, by], schema.items).append(item)
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
