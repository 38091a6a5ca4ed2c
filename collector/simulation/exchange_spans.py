"""Spans of simulated exchanges: each is the root of a trace, below which the agent's spans hang."""

from __future__ import annotations

import json
import time
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
from opentelemetry.trace import SpanKind, Status, StatusCode, Tracer, set_span_in_context

from tracejury.schemas.simulation import SESSION_END, USER_FAILED

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


@dataclass(slots=True)
class ExchangeSpan:
    """The root span of an exchange. It is sent by `end`, once it is known whether another exchange follows."""

    span: ApiSpan
    _over: int = 0

    @contextmanager
    def current(self, attributes: Mapping[str, str | int | bool]) -> Iterator[None]:
        """For the agent's work: the span and baggage of the attributes are current. At the end the exchange is over."""
        carried = Context()
        for name, value in attributes.items():
            carried = baggage.set_baggage(name, json.dumps(value) if value is True else str(value), carried)
        token = context.attach(set_span_in_context(self.span, carried))
        try:
            yield
        finally:
            context.detach(token)
            self._over = time.time_ns()

    def answered(self, text: str) -> None:
        """The agent answered."""
        said = {"role": "assistant", "parts": [{"type": "text", "content": text}], "finish_reason": "stop"}
        self.span.set_attribute("gen_ai.output.messages", json.dumps([said]))

    def failed(self, kind: str, reason: str) -> None:
        """The agent did not answer."""
        self.span.set_attribute("error.type", kind)
        self.span.set_status(Status(StatusCode.ERROR, reason))

    def user_failed(self) -> None:
        """The user's model gave no message after it."""
        self.span.set_attribute(USER_FAILED, True)  # noqa: FBT003  the SDK's signature

    def end(self, *, session: bool) -> None:
        """Send it as of when the exchange was over; `session`: no exchange follows."""
        if session:
            self.span.set_attribute(SESSION_END, True)  # noqa: FBT003  the SDK's signature
        self.span.end(self._over)


def begin_exchange(tracer: Tracer, said: str, attributes: Mapping[str, str | int | bool]) -> ExchangeSpan:
    """The root span of an exchange in which the user says `said`."""
    message = {"role": "user", "parts": [{"type": "text", "content": said}]}
    given = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.input.messages": json.dumps([message]),
        **attributes,
    }
    return ExchangeSpan(tracer.start_span("invoke_agent", Context(), SpanKind.CLIENT, given))


@contextmanager
def untraced() -> Iterator[None]:
    """For calls that are none of the agent's: no span is current, and its instrumentation makes none.

    Instrumentations look for one of two keys: that of the specification's text, or one that the API keeps to itself.
    """
    quiet = Context()
    for key in ("suppress_instrumentation", getattr(context, "_SUPPRESS_INSTRUMENTATION_KEY", "")):
        quiet = context.set_value(key, True, quiet)  # noqa: FBT003  the API's signature
    token = context.attach(quiet)
    try:
        yield
    finally:
        context.detach(token)
