"""The demo program's instrumentation: OpenInference attributes on spans of the OpenTelemetry SDK.

This is what an instrumentation library does for an agent framework; nothing here knows of tracejury.
Source of the names: the OpenInference semantic conventions (github.com/Arize-ai/openinference, spec/).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from opentelemetry.trace import Span, Status, StatusCode, Tracer

KIND = "openinference.span.kind"
JSON_TYPE, TEXT_TYPE = "application/json", "text/plain"


@dataclass(frozen=True, slots=True)
class ToolCallRequest:
    """A tool call that a model asks for."""

    name: str
    arguments: Mapping[str, object]
    id: str


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a conversation with a model."""

    role: str
    content: str
    calls: Sequence[ToolCallRequest] = ()
    call_id: str = ""


@contextmanager
def agent_span(tracer: Tracer, name: str, task: str, system_prompt: str) -> Iterator[Span]:
    """One run of one agent."""
    attributes = {
        KIND: "AGENT",
        "agent.name": name,
        "input.value": task,
        "input.mime_type": TEXT_TYPE,
        "llm.system": "scripted",
        "metadata": json.dumps({"system_prompt": system_prompt}),
    }
    with tracer.start_as_current_span(f"{name}.run", attributes=attributes) as span:
        yield span


@contextmanager
def llm_span(
    tracer: Tracer, model: str, messages: Sequence[ChatMessage], tools: Sequence[Mapping[str, object]]
) -> Iterator[Span]:
    """One call of a model."""
    with tracer.start_as_current_span("chat", attributes={KIND: "LLM", "llm.model_name": model}) as span:
        span.set_attribute("llm.invocation_parameters", json.dumps({"temperature": 0, "max_tokens": 1024}))
        for index, message in enumerate(messages):
            _set_message(span, f"llm.input_messages.{index}.", message)
        for index, schema in enumerate(tools):
            span.set_attribute(f"llm.tools.{index}.tool.json_schema", json.dumps(schema))
        span.set_attribute("llm.token_count.prompt", sum(_tokens(m.content) for m in messages))
        yield span


def record_reply(span: Span, reply: ChatMessage) -> None:
    """The model's answer."""
    _set_message(span, "llm.output_messages.0.", reply)
    span.set_attribute("llm.token_count.completion", _tokens(reply.content))
    span.set_attribute("output.value", reply.content)
    span.set_status(Status(StatusCode.OK))


@contextmanager
def tool_span(tracer: Tracer, call: ToolCallRequest, schema: Mapping[str, object]) -> Iterator[Span]:
    """One run of one tool; what it raises is recorded as an exception event with status ERROR, by the SDK."""
    function = schema["function"]
    parameters = function.get("parameters") if isinstance(function, dict) else None
    attributes = {
        KIND: "TOOL",
        "tool.name": call.name,
        "tool.parameters": json.dumps(parameters),
        "tool_call.id": call.id,
        "input.value": json.dumps(dict(call.arguments)),
        "input.mime_type": JSON_TYPE,
    }
    with tracer.start_as_current_span(call.name, attributes=attributes) as span:
        yield span


def record_output(span: Span, text: str) -> None:
    """The result of a tool or an agent."""
    span.set_attribute("output.value", text)
    span.set_attribute("output.mime_type", TEXT_TYPE)
    span.set_status(Status(StatusCode.OK))


def _set_message(span: Span, prefix: str, message: ChatMessage) -> None:
    span.set_attribute(f"{prefix}message.role", message.role)
    if message.content:
        span.set_attribute(f"{prefix}message.content", message.content)
    if message.call_id:
        span.set_attribute(f"{prefix}message.tool_call_id", message.call_id)
    for index, call in enumerate(message.calls):
        place = f"{prefix}message.tool_calls.{index}.tool_call."
        span.set_attribute(f"{place}id", call.id)
        span.set_attribute(f"{place}function.name", call.name)
        span.set_attribute(f"{place}function.arguments", json.dumps(dict(call.arguments)))


def _tokens(text: str) -> int:
    return max(1, len(text) // 4)
