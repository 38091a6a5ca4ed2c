"""Agent runs of any length as OTLP requests, for tests and benchmarks of LLM judging."""

from __future__ import annotations

import os
import time

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

WORDS = (
    "the hens of yard {n} were counted twice and the count of turn {turn} was {count}, said the ledger of the farm. "
)


def value(key: str, text: str) -> KeyValue:
    """A string attribute."""
    return KeyValue(key=key, value=AnyValue(string_value=text))


def request(number: int, turns: int, length: int) -> ExportTraceServiceRequest:
    """One trace of one run: so many turns of an LLM call and a tool call, each with texts of about `length`."""
    trace_id, top = os.urandom(16), os.urandom(8)
    now = time.time_ns()
    spans = [_span(trace_id, top, b"", "keeper.run", now, turns * 10, ("openinference.span.kind", "AGENT"))]
    for turn in range(turns):
        said = (WORDS.format(n=number, turn=turn, count=turn * 7) * (length // 100 + 1))[:length]
        call, at = os.urandom(8), now + turn * 10
        llm = _span(trace_id, call, top, "chat", at, 3, ("openinference.span.kind", "LLM"))
        llm.attributes.extend(
            [
                value("llm.input_messages.0.message.role", "user"),
                value("llm.input_messages.0.message.content", f"Count the hens of yard {number}."),
                value("llm.output_messages.0.message.role", "assistant"),
                value("llm.output_messages.0.message.content", f"Turn {turn}: {said}"),
            ]
        )
        tool = _span(trace_id, os.urandom(8), top, "count", at + 4, 3, ("openinference.span.kind", "TOOL"))
        tool.attributes.extend(
            [
                value("tool.name", "count"),
                value("input.value", f'{{"yard": {turn}}}'),
                value("output.value", said[::-1]),
            ]
        )
        spans += [llm, tool]
    made = ExportTraceServiceRequest()
    group = made.resource_spans.add()
    group.resource.attributes.append(value("service.name", "farm"))
    group.scope_spans.add().spans.extend(spans)
    return made


def _span(
    trace_id: bytes, span_id: bytes, parent: bytes, name: str, start: int, lasts: int, kind: tuple[str, str]
) -> Span:
    made = Span(
        trace_id=trace_id,
        span_id=span_id,
        parent_span_id=parent,
        name=name,
        start_time_unix_nano=start,
        end_time_unix_nano=start + lasts,
    )
    made.attributes.append(value(*kind))
    return made
