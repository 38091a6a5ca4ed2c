"""OpenInference (Arize): `openinference.span.kind` and flattened `llm.*`, `tool.*`, `input.*`, `output.*` keys.

Source: the OpenInference semantic conventions, and what FRAMEWORK instrumentations of it were seen to send.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...schemas.normalized import Json, Kind, Message, NormalizedSpan, ToolDefinition, ToolRequest
from ...schemas.spans import LogRecord, Span
from .arguments import as_schema, parse_arguments, parse_definition
from .convention import exceptions, unread_log_text
from .values import as_index, as_int, first, parse_array, parse_json, parse_object, text_list

_KIND: Final = "openinference.span.kind"
_INPUT: Final = "llm.input_messages."
_OUTPUT: Final = "llm.output_messages."
_TOOLS: Final = "llm.tools."
_SCHEMA: Final = "tool.json_schema"
_MANAGED: Final = "smolagents.managed_agents."

_KINDS: Final = {
    "LLM": Kind.LLM,
    "EMBEDDING": Kind.EMBEDDING,
    "CHAIN": Kind.CHAIN,
    "RETRIEVER": Kind.RETRIEVER,
    "RERANKER": Kind.RERANKER,
    "TOOL": Kind.TOOL,
    "AGENT": Kind.AGENT,
    "GUARDRAIL": Kind.GUARDRAIL,
    "EVALUATOR": Kind.EVALUATOR,
}

_Flat = dict[int, dict[str, str]]


class OpenInference:
    """Reads OpenInference spans."""

    name = "openinference"

    def recognises(self, span: Span, logs: Sequence[LogRecord]) -> bool:  # noqa: ARG002 - it writes no log records
        """Every OpenInference instrumentation sets the span kind."""
        return _KIND in span.attributes

    def normalize(self, span: Span, logs: Sequence[LogRecord]) -> NormalizedSpan:
        """See `Convention`."""
        attributes = span.attributes
        kind = _KINDS.get(attributes[_KIND].upper(), Kind.OTHER)
        common: dict[str, Any] = {
            "raw": span,
            "kind": kind,
            "convention": self.name,
            "session_id": attributes.get("session.id", ""),
            "input_text": attributes.get("input.value", ""),
            "output_text": attributes.get("output.value", ""),
            "exceptions": exceptions(span),
            "log_text": unread_log_text(logs),
        }
        if kind is Kind.LLM:
            common |= _llm(attributes)
        elif kind is Kind.TOOL:
            common |= _tool(span)
        elif kind is Kind.AGENT:
            common |= _agent(span)
        return NormalizedSpan(**common)


def _llm(attributes: Mapping[str, str]) -> dict[str, Any]:
    inputs: _Flat = {}
    outputs: _Flat = {}
    tools: dict[int, ToolDefinition] = {}
    for key, value in attributes.items():
        if not key.startswith("llm."):
            continue
        if key.startswith(_INPUT):
            _put(inputs, key[len(_INPUT) :], value)
        elif key.startswith(_OUTPUT):
            _put(outputs, key[len(_OUTPUT) :], value)
        elif key.startswith(_TOOLS):
            _put_tool(tools, key[len(_TOOLS) :], value)
    parameters = parse_object(attributes.get("llm.invocation_parameters", "")) or {}
    return {
        "input_messages": _messages(inputs),
        "output_messages": _messages(outputs),
        "tools": tuple(tools[i] for i in sorted(tools)),
        "model": attributes.get("llm.model_name", ""),
        "stop_sequences": _stop_sequences(parameters, attributes.get("input.value", "")),
        "max_tokens": _max_tokens(parameters),
        "input_tokens": as_int(attributes.get("llm.token_count.prompt")),
        "output_tokens": as_int(attributes.get("llm.token_count.completion")),
        "agent_name": attributes.get("agent.name", ""),
    }


def _put(flat: _Flat, rest: str, value: str) -> None:
    index, _, field = rest.partition(".")
    if (number := as_index(index)) is not None:
        flat.setdefault(number, {})[field] = value


def _put_tool(tools: dict[int, ToolDefinition], rest: str, value: str) -> None:
    index, _, field = rest.partition(".")
    if field == _SCHEMA and (number := as_index(index)) is not None and (tool := parse_definition(value)):
        tools[number] = tool


def _messages(flat: _Flat) -> tuple[Message, ...]:
    return tuple(_message(flat[i]) for i in sorted(flat))


def _message(fields: Mapping[str, str]) -> Message:
    role = fields.get("message.role", "").lower()
    text = fields.get("message.content", "")
    if len(fields) <= 2 and text:  # noqa: PLR2004 - role and content only: by far the most common message
        return Message(role, text)
    requests: dict[int, dict[str, str]] = {}
    parts: dict[int, str] = {}
    for key, value in fields.items():
        if key.startswith("message.tool_calls."):
            _put(requests, key[19:], value)
        elif key.startswith("message.contents.") and key.endswith(".message_content.text"):
            number = as_index(key[17:].partition(".")[0])
            if number is not None:
                parts[number] = value
    return Message(
        role=role,
        text=text or "\n".join(parts[i] for i in sorted(parts)),
        tool_requests=tuple(_request(requests[i]) for i in sorted(requests)),
        tool_call_id=fields.get("message.tool_call_id", ""),
        name=fields.get("message.name", ""),
    )


def _request(fields: Mapping[str, str]) -> ToolRequest:
    arguments: Json = parse_arguments(fields.get("tool_call.function.arguments", ""))
    return ToolRequest(fields.get("tool_call.function.name", ""), arguments, fields.get("tool_call.id", ""))


def _stop_sequences(parameters: Mapping[str, Any], input_value: str) -> tuple[str, ...]:
    found = text_list(parameters.get("stop") or parameters.get("stop_sequences"))
    return found or text_list(_late_field(input_value, "stop_sequences"))


def _late_field(text: str, name: str) -> Any:
    """The last top-level-looking `"name": value` in JSON text, without parsing what stands before it.

    Inside JSON strings quotes are escaped, so an unescaped `"name":` is a key.
    """
    needle = f'"{name}":'
    at = text.rfind(needle)
    if at < 0 or text[at - 1 : at] == "\\":
        return None
    start = at + len(needle)
    while text[start : start + 1] in (" ", "\n", "\t"):
        start += 1
    if text[start : start + 1] not in ('"', "["):
        return None
    try:
        return json.JSONDecoder().raw_decode(text, start)[0]
    except (ValueError, RecursionError):
        return None


def _max_tokens(parameters: Mapping[str, Any]) -> int | None:
    for name in ("max_completion_tokens", "max_tokens", "max_output_tokens"):
        value = parameters.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None


def _tool(span: Span) -> dict[str, Any]:
    attributes = span.attributes
    recorded = parse_json(attributes.get("tool.parameters", ""))
    schema = as_schema(recorded)
    arguments = parse_arguments(attributes.get("input.value", ""), schema)
    if arguments in ("", None) and schema is None and isinstance(recorded, dict):
        arguments = recorded
    return {
        "tool_name": attributes.get("tool.name", "") or span.name,
        "tool_call_id": first(attributes, "tool_call.id", "tool.id"),
        "tool_description": attributes.get("tool.description", ""),
        "tool_arguments": arguments,
        "tool_result": attributes.get("output.value"),
        "tool_parameters": schema,
        "agent_name": attributes.get("agent.name", ""),
    }


def _agent(span: Span) -> dict[str, Any]:
    attributes = span.attributes
    managed = {
        i: v
        for k, v in attributes.items()
        if k.startswith(_MANAGED) and k.endswith(".name") and (i := as_index(k[len(_MANAGED) : -5])) is not None
    }
    return {
        "agent_name": first(attributes, "agent.name", "graph.node.id"),
        "agent_id": attributes.get("agent.id", ""),
        "managed_agents": tuple(managed[i] for i in sorted(managed)),
        "tool_names": text_list(parse_array(attributes.get("smolagents.tools_names", ""))),
        "max_steps": as_int(attributes.get("smolagents.max_steps")),
    }
