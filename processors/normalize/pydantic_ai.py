"""Pydantic AI's and Logfire's names from before they wrote OpenTelemetry GenAI attributes, and beside them.

Source: the packages pydantic-ai-slim (instrumentation versions 1 to 5) and logfire. Version 1 holds messages as a JSON
list of GenAI events in one attribute.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tracejury.schemas.normalized import Kind, Message, ToolDefinition
from tracejury.schemas.spans import LogRecord, Span

from .arguments import tool_definitions
from .convention import Fields, MarkedConvention
from .messages import read_message
from .results import tool_fields
from .values import first, parse_array, parse_object, text_of

_AGENT: Final = "agent_name"
_MODEL: Final = "model_name"
_ALL: Final = "all_messages_events"
_EVENTS: Final = "events"
_ARGUMENTS: Final = "tool_arguments"
_RESPONSE: Final = "tool_response"
_PARAMETERS: Final = "model_request_parameters"
_REQUEST: Final = "request_data"
_REPLY: Final = "response_data"
_TEMPLATE: Final = "logfire.msg_template"
_AGENTS_SDK: Final = {"Agent run: {name!r}": Kind.AGENT, "Function: {name}": Kind.TOOL}
"""Logfire's templates for spans of OpenAI's agents SDK, whose fields have plain names: `name`, `input`, `output`."""
_CHOICE: Final = "gen_ai.choice"
_TOOL_GROUPS: Final = ("function_tools", "output_tools", "tools")


class PydanticAI(MarkedConvention):
    """Reads Pydantic AI's and Logfire's own attributes."""

    name = "pydantic-ai"
    marks = frozenset({_AGENT, _ALL, _ARGUMENTS, _RESPONSE, _PARAMETERS, _REQUEST, _EVENTS, _TEMPLATE})

    def recognises(self, span: Span, logs: Sequence[LogRecord]) -> bool:
        """One of its keys that says what the span is: the keys are plain words that any program may use."""
        return super().recognises(span, logs) and _kind(span.attributes) is not Kind.CHAIN

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Fields:  # noqa: ARG002 - it writes no log records
        """See `Convention`."""
        attributes = span.attributes
        kind = _kind(attributes)
        name = first(attributes, _AGENT, "name") if kind is Kind.AGENT else attributes.get(_AGENT, "")
        found: Fields = {"kind": kind, "agent_name" if kind is Kind.AGENT else "agent_hint": name}
        if kind is Kind.AGENT:
            found["output_text"] = attributes.get("final_result", "")
            found["model"] = attributes.get(_MODEL, "")
        elif kind is Kind.TOOL:
            found |= _tool(attributes)
        if kind in (Kind.AGENT, Kind.LLM):
            found |= _call(attributes)
        return found


def _kind(attributes: Mapping[str, str]) -> Kind:
    if known := _AGENTS_SDK.get(attributes.get(_TEMPLATE, "")):
        return known
    if _ARGUMENTS in attributes or _RESPONSE in attributes:
        return Kind.TOOL
    if _AGENT in attributes and (_MODEL in attributes or _ALL in attributes):
        return Kind.AGENT
    events = '"event.name"' in attributes.get(_EVENTS, "")[:_HEAD]
    return Kind.LLM if _PARAMETERS in attributes or events or _is_request(attributes) else Kind.CHAIN


_HEAD: Final = 4000  # characters in which a list of events shows that it is one


def _is_request(attributes: Mapping[str, str]) -> bool:
    return '"messages"' in attributes.get(_REQUEST, "") or '"input"' in attributes.get(_REQUEST, "")


def _tool(attributes: Mapping[str, str]) -> Fields:
    name = first(attributes, "gen_ai.tool.name", "name")
    if _TEMPLATE in attributes and _ARGUMENTS not in attributes:
        fields = tool_fields(attributes.get("input", ""), attributes.get("output"))
        error = parse_object(attributes.get("error", "")) or {}
        return {"tool_name": name} | fields | ({"failure": text_of(error.get("message"))} if error else {})
    return {"tool_name": name} | tool_fields(attributes.get(_ARGUMENTS, ""), attributes.get(_RESPONSE))


def _call(attributes: Mapping[str, str]) -> Fields:
    events = parse_array(first(attributes, _ALL, _EVENTS)) or []
    request = parse_object(attributes.get(_REQUEST, "")) or {}
    reply = parse_object(attributes.get(_REPLY, "")) or {}
    sent = [e for e in events if isinstance(e, dict) and e.get("event.name") != _CHOICE]
    written = [e.get("message") for e in events if isinstance(e, dict) and e.get("event.name") == _CHOICE]
    asked = request.get("messages", request.get("input"))
    sent += asked if isinstance(asked, list) else []
    streamed = reply.get("combined_chunk_content")
    written += [reply["message"]] if isinstance(reply.get("message"), dict) else [streamed] if streamed else []
    return {
        "input_messages": _messages(sent, "user"),
        "output_messages": _messages(written, "assistant"),
        "tools": _tools(parse_object(attributes.get(_PARAMETERS, "")) or request),
        **({"model": model} if (model := text_of(request.get("model"))) else {}),
    }


def _messages(items: Sequence[Any], role: str) -> tuple[Message, ...]:
    return tuple(m for item in items for m in read_message(_with_role(item), role))


def _with_role(item: Any) -> Any:
    """An event that names its role only by its own name."""
    if not isinstance(item, dict) or "role" in item:
        return item
    role = text_of(item.get("event.name")).removeprefix("gen_ai.").removesuffix(".message")
    return {**item, "role": role} if role in ("system", "user", "assistant", "tool") else item


def _tools(parameters: Mapping[str, Any]) -> tuple[ToolDefinition, ...]:
    return tuple(t for group in _TOOL_GROUPS for t in tool_definitions(parameters.get(group)))
