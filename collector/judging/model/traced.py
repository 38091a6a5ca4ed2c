"""A span for each call of a judge, by OpenTelemetry's GenAI conventions; no content, and our mark on it."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, Final
from urllib.parse import urlsplit

from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, format_span_id, format_trace_id

from tracejury import __version__
from tracejury.collector.otlp.mark import MARK, mark_of
from tracejury.judges.llm.client import Client, Prompt, Reply

LAST_SECONDS: Final = 2.0
QUEUE: Final = 2048
"""Ended spans that wait for the exporter; beyond it they are dropped."""


class TracedClient:
    """Makes a span for each call that is really made: a known answer is none, and counted it would cost twice."""

    def __init__(self, inner: Client, tracer: Tracer, secret: bytes) -> None:
        self._inner, self.model = inner, inner.model
        self._tracer = tracer
        self._secret = secret

    async def complete(self, prompt: Prompt) -> Reply:
        """The inner client's reply or error; see `Client`."""
        # A root of its own: whatever the caller is traced in has nothing to do with the trace that is judged.
        with self._tracer.start_as_current_span(
            f"chat {self.model}",
            context=Context(),
            kind=SpanKind.CLIENT,
            attributes=asked(self.model, prompt),
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            context = span.get_span_context()
            ids = format_trace_id(context.trace_id), format_span_id(context.span_id)
            span.set_attribute(MARK, mark_of(*ids, self._secret))
            try:
                reply = await self._inner.complete(prompt)
            except BaseException as error:
                failed(span, error)
                raise
            span.set_attributes(answered(reply))
            return reply


def asked(model: str, prompt: Prompt) -> dict[str, Any]:
    """The attributes known before the call."""
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": model.partition("/")[0] if "/" in model else "litellm",
        "gen_ai.request.model": model,
        "gen_ai.request.max_tokens": prompt.max_tokens,
        "tracejury.judge.purpose": prompt.purpose,
        "tracejury.judged.service": prompt.service,
        "tracejury.judged.trace_id": prompt.trace_id,
        "tracejury.judged.run_id": prompt.run_id,
    }


def answered(reply: Reply) -> dict[str, Any]:
    """The attributes of the reply."""
    cost = {} if reply.cost is None else {"tracejury.judge.cost_usd": reply.cost}
    return {
        "gen_ai.response.model": reply.model,
        "gen_ai.response.finish_reasons": [reply.finish_reason],
        "gen_ai.usage.input_tokens": reply.input_tokens,
        "gen_ai.usage.output_tokens": reply.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": reply.cached_tokens,
    } | cost


def failed(span: Span, error: BaseException) -> None:
    """Note the kind of the error; its text may repeat what was said."""
    span.set_attribute("error.type", type(error).__name__)
    span.set_status(Status(StatusCode.ERROR))


def open_provider(endpoint: str) -> TracerProvider:
    """A provider that sends to an OTLP/gRPC endpoint (http://host:port or https://…), in the background and bounded.

    `close_provider` it at the end.
    """
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    parts = urlsplit(endpoint)
    exporter = OTLPSpanExporter(endpoint=endpoint, insecure=parts.scheme != "https", timeout=10)
    return provider_of(BatchSpanProcessor(exporter, max_queue_size=QUEUE))


async def close_provider(provider: TracerProvider) -> None:
    """Send what waits, for `LAST_SECONDS` at most: an endpoint that is away must not hold up who stops."""
    # Not of the loop's own threads: those are waited for at the end, and the exporter tries for tens of seconds.
    last = threading.Thread(target=provider.shutdown, name="last-spans", daemon=True)
    last.start()
    await asyncio.to_thread(last.join, LAST_SECONDS)


def provider_of(processor: SpanProcessor) -> TracerProvider:
    """A provider of our own, apart from any global one, that samples every span."""
    resource = Resource.create({"service.name": "tracejury", "service.version": __version__})
    provider = TracerProvider(resource=resource, sampler=ALWAYS_ON, shutdown_on_exit=False)
    provider.add_span_processor(processor)
    return provider
