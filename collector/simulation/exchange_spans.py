"""Spans of simulated exchanges: each is the root of a trace, below which the agent's spans hang."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from opentelemetry import baggage, context
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import ReadableSpan, Span, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import Span as ApiSpan
from opentelemetry.trace import SpanKind, Status, StatusCode, Tracer

SESSION_END: Final = "tracejury.session.end"
_PENDING: Final = "tracejury.pending"
_EVERY_MS: Final = 200  # between exports: an agent is judged while it works
_MOST_QUEUED: Final = 65_536


class _AnnouncingProcessor(BatchSpanProcessor):
    """Sends a root span when it starts, too, so that its trace names session and task from the beginning."""

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:  # noqa: ARG002  the SDK's signature
        if span.parent is None:
            self.on_end(
                ReadableSpan(
                    name=span.name,
                    context=span.context,
                    resource=span.resource,
                    attributes={**(span.attributes or {}), _PENDING: True},
                    kind=span.kind,
                    start_time=span.start_time,
                    end_time=span.start_time,
                    instrumentation_scope=span.instrumentation_scope,
                )
            )


def tracer_provider(endpoint: str, service: str) -> TracerProvider:
    """A provider that exports to an OTLP/gRPC endpoint, with the SDK's variables for keys and certificates."""
    resource = Resource.create({SERVICE_NAME: service} if service else None)
    provider = TracerProvider(resource=resource, sampler=ALWAYS_ON)
    exporter = OTLPSpanExporter(endpoint if "://" in endpoint else f"http://{endpoint}")
    provider.add_span_processor(
        _AnnouncingProcessor(exporter, max_queue_size=_MOST_QUEUED, schedule_delay_millis=_EVERY_MS)
    )
    return provider


@dataclass(frozen=True, slots=True)
class ExchangeSpan:
    """The root span of an exchange that goes on."""

    span: ApiSpan

    def answered(self, text: str) -> None:
        """The agent answered."""
        said = {"role": "assistant", "parts": [{"type": "text", "content": text}], "finish_reason": "stop"}
        self.span.set_attribute("gen_ai.output.messages", json.dumps([said]))

    def failed(self, kind: str, reason: str) -> None:
        """The agent did not answer."""
        self.span.set_attribute("error.type", kind)
        self.span.set_status(Status(StatusCode.ERROR, reason))

    def end_session(self) -> None:
        """No exchange follows."""
        self.span.set_attribute(SESSION_END, True)  # noqa: FBT003  the SDK's signature


@contextmanager
def exchange_span(tracer: Tracer, said: str, attributes: Mapping[str, str | int | bool]) -> Iterator[ExchangeSpan]:
    """A root span of an exchange in which the user says `said`. It is current, and so is baggage of the attributes."""
    message = {"role": "user", "parts": [{"type": "text", "content": said}]}
    given = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.input.messages": json.dumps([message]),
        **attributes,
    }
    carried = Context()
    for name, value in attributes.items():
        carried = baggage.set_baggage(name, json.dumps(value) if value is True else str(value), carried)
    token = context.attach(carried)
    try:
        with tracer.start_as_current_span(
            "invoke_agent",
            kind=SpanKind.CLIENT,
            attributes=given,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            yield ExchangeSpan(span)
    finally:
        context.detach(token)
