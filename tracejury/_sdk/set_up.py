"""Two lines for a program that has no tracing yet: a provider, an exporter from the usual variables, our processor."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from functools import partial
from typing import Final

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter

from .processor import LiveProcessor

ATTRIBUTES: Final = 4096
"""Attributes a span may have: the SDK's 128 push out the system prompt after a few calls of a tool."""

_EXPORTERS: Final = {
    "http/protobuf": "opentelemetry.exporter.otlp.proto.http.trace_exporter",
    "grpc": "opentelemetry.exporter.otlp.proto.grpc.trace_exporter",
}
_LIMITS: Final = ("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "OTEL_ATTRIBUTE_COUNT_LIMIT")


def set_up(service: str = "", *, endpoint: str = "", exporter: SpanExporter | None = None) -> TracerProvider:
    """Add a LiveProcessor to the global tracer provider; one is made where there is none. A second call adds nothing.

    `service`: its `service.name` (else OTEL_SERVICE_NAME); `endpoint`: where the collector listens (else
    OTEL_EXPORTER_OTLP_ENDPOINT, else this machine). Over HTTP, unless OTEL_EXPORTER_OTLP_PROTOCOL says `grpc` or only
    that exporter is installed.

    Raises:
        ImportError: no exporter was given and none is installed.
    """
    provider = trace.get_tracer_provider()
    if not isinstance(provider, TracerProvider):
        limits = SpanLimits() if any(map(os.environ.get, _LIMITS)) else SpanLimits(max_span_attributes=ATTRIBUTES)
        resource = Resource.create({"service.name": service} if service else {})
        provider = TracerProvider(resource=resource, span_limits=limits)
        trace.set_tracer_provider(provider)
    if not getattr(provider, _MARK, False):
        setattr(provider, _MARK, True)
        provider.add_span_processor(LiveProcessor(exporter or _exporter_maker(endpoint)))
    return provider


_MARK: Final = "_tracejury_live"


def _exporter_maker(endpoint: str) -> Callable[[], SpanExporter]:
    """A factory of exporters to `endpoint` ("": as the environment says)."""
    wanted = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL")
    for protocol in [wanted] if wanted in _EXPORTERS else _EXPORTERS:
        try:
            exporter: Callable[..., SpanExporter] = importlib.import_module(_EXPORTERS[protocol]).OTLPSpanExporter
        except ImportError:
            continue
        if not endpoint:
            return exporter
        return partial(exporter, endpoint=endpoint.rstrip("/") + ("" if protocol == "grpc" else "/v1/traces"))
    raise ImportError("no OTLP exporter is installed: pip install opentelemetry-exporter-otlp-proto-http")
