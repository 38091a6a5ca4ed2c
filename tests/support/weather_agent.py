"""Small agents that ask for the weather, whose traces fail or do not."""

from __future__ import annotations

from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from otlp_parts import START, span, text, traces

SCHEMA = '{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}'
PROBLEM = "TypeError: weather() got an unexpected keyword argument 'town'"
KIND = "openinference.span.kind"


def trace_id(number: int) -> bytes:
    """Ids whose last 56 bits spread evenly over the numbers."""
    return number.to_bytes(9) + (number * 0x9E3779B97F4A7C15 % 2**56).to_bytes(7)


def agent(number: int = 1, *, fault: bool, trace_state: str = "", **changes: Any) -> ExportTraceServiceRequest:
    """A run of one agent that calls a tool (`fault`: with an argument it does not have); `changes`: of its root."""
    given, argument = {"trace_id": trace_id(number), "trace_state": trace_state}, "town" if fault else "city"
    request = "llm.output_messages.0.message.tool_calls.0.tool_call.function"
    model = span(
        span_id=b"llm00001",
        parent_span_id=b"agent001",
        name="ChatModel",
        attributes=[
            text(KIND, "LLM"),
            text("llm.input_messages.0.message.role", "user"),
            text("llm.input_messages.0.message.content", "How warm is it in Oslo?"),
            text("llm.output_messages.0.message.role", "assistant"),
            text(f"{request}.name", "weather"),
            text(f"{request}.arguments", f'{{"{argument}": "Oslo"}}'),
            text("llm.tools.0.tool.json_schema", f'{{"name": "weather", "parameters": {SCHEMA}}}'),
        ],
        end_time_unix_nano=START + 1_000_000_000,
        **given,
    )
    tool = span(
        span_id=b"tool0001",
        parent_span_id=b"agent001",
        name="weather",
        attributes=[
            text(KIND, "TOOL"),
            text("tool.name", "weather"),
            text("tool.parameters", SCHEMA),
            text("input.value", f'{{"{argument}": "Oslo"}}'),
            *([] if fault else [text("output.value", "12 degrees")]),
        ],
        status=Status(code=Status.STATUS_CODE_ERROR, message=PROBLEM) if fault else Status(),
        events=[Span.Event(name="exception", attributes=[text("exception.message", PROBLEM)])] if fault else [],
        start_time_unix_nano=START + 1_000_000_001,
        end_time_unix_nano=START + 2_000_000_000,
        **given,
    )
    root = span(
        span_id=b"agent001",
        name="Assistant.run",
        attributes=[
            text(KIND, "AGENT"),
            text("agent.name", "assistant"),
            text("input.value", "How warm is it in Oslo?"),
            text("output.value", "It is 12 degrees."),
        ],
        end_time_unix_nano=START + 3_000_000_000,
        **given,
        **changes,
    )
    return traces(model, tool, root, service="shop")
