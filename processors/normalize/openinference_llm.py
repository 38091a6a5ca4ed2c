"""OpenInference LLM spans: flattened messages and tools, invocation parameters, token counts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from ...schemas.normalized import Message, ToolRequest
from .arguments import definitions, parse_arguments, parse_definition, tool_definitions
from .flat import Flat, put
from .messages import ROLES
from .openinference_recorded import recorded_input, recorded_output, visible
from .values import as_index, as_int, parse_object, text_list

_INPUT: Final = "llm.input_messages."
_OUTPUT: Final = "llm.output_messages."
_TOOLS: Final = "llm.tools."
_SCHEMA: Final = "tool.json_schema"
_CALLS: Final = "message.tool_calls."
_CONTENTS: Final = "message.contents."
_SHORT: Final = 120  # characters of a key that is remembered
_SHORT_TEXT: Final = 4_000  # characters of a message that is remembered
_ROLE_AND_CONTENT: Final = 2  # fields of a message of role and content only: by far the most common
_REASONING: Final = ("reasoning", "thinking")


def read_llm(attributes: Mapping[str, str]) -> dict[str, Any]:
    """Fields of a `NormalizedSpan` for an LLM call."""
    inputs: Flat = {}
    outputs: Flat = {}
    schemas: Flat = {}
    lists = {_INPUT: inputs, _OUTPUT: outputs, _TOOLS: schemas}
    for key, value in attributes.items():
        if not key.startswith("llm."):
            continue
        place = _remembered(key) if len(key) <= _SHORT else _place(key)
        if place is None:
            continue
        prefix, number, field = place
        items = lists[prefix]
        if number in items:
            items[number][field] = value
        else:
            items[number] = {field: value}
    tools = {i: tool for i, fields in schemas.items() if (tool := parse_definition(fields.get(_SCHEMA, "")))}
    parameters = parse_object(attributes.get("llm.invocation_parameters", "")) or {}
    input_value = attributes.get("input.value", "")
    messages, late = _messages(inputs), bool(inputs) and 0 not in inputs and 1 not in inputs
    if late or not messages:
        recorded = recorded_input(input_value)
        late = late and len(recorded) <= len(messages)
        messages = recorded if len(recorded) > len(messages) else messages
    return {
        "oldest_missing": late,
        "input_messages": messages,
        "output_messages": _reply(_messages(outputs), attributes.get("output.value", "")),
        "tools": tuple(tools[i] for i in sorted(tools))
        or tool_definitions(parameters.get("tools"))
        or definitions(attributes.get("llm.tools", "")),
        "model": attributes.get("llm.model_name", ""),
        "stop_sequences": _stop_sequences(parameters, input_value),
        "max_tokens": _max_tokens(parameters),
        "finish_reasons": text_list(attributes.get("llm.finish_reason", "")),
        "input_tokens": as_int(attributes.get("llm.token_count.prompt")),
        "output_tokens": as_int(attributes.get("llm.token_count.completion")),
    }


def _reply(flat: tuple[Message, ...], output_value: str) -> tuple[Message, ...]:
    """The flattened reply; the recorded one where that is missing, or says nothing while the recorded one does.

    LangChain's instrumentation flattens no call whose arguments are no JSON.
    """
    if any(m.text or m.tool_requests or m.reasoning for m in flat):
        return flat
    recorded = recorded_output(output_value)
    return recorded if not flat or any(m.text or m.tool_requests for m in recorded) else flat


def _place(key: str) -> tuple[str, int, str] | None:
    """List, index and field of a flattened key; None of any other."""
    prefix = next((p for p in (_INPUT, _OUTPUT, _TOOLS) if key.startswith(p)), "")
    index, _, field = key[len(prefix) :].partition(".")
    number = as_index(index) if prefix else None
    return None if number is None else (prefix, number, field)


_remembered = lru_cache(maxsize=8192)(_place)
"""Every call of every run has the same keys."""


def _messages(flat: Flat) -> tuple[Message, ...]:
    return tuple(_message(flat[i]) for i in sorted(flat))


def _message(fields: Mapping[str, str]) -> Message:
    stated, content = fields.get("message.role", ""), fields.get("message.content", "")
    if content and len(fields) == _ROLE_AND_CONTENT and "message.role" in fields:
        plain = _remembered_plain if len(content) <= _SHORT_TEXT else _plain
        if (message := plain(stated, content)).text:
            return message
    role = stated.lower()
    role = ROLES.get(role, role)
    text = visible(content)
    requests: Flat = {}
    parts: Flat = {}
    for key, value in fields.items():
        if key.startswith(_CALLS):
            put(requests, key[len(_CALLS) :], value)
        elif key.startswith(_CONTENTS):
            put(parts, key[len(_CONTENTS) :], value)
    contents = [
        (p.get("message_content.type", ""), visible(p.get("message_content.text", "")))
        for _, p in sorted(parts.items())
    ]
    text = text or "\n".join(t for kind, t in contents if t and kind not in _REASONING)
    return Message(
        role=role,
        text=text,
        tool_requests=tuple(_request(requests[i]) for i in sorted(requests)) or _function_call(fields),
        tool_call_id=fields.get("message.tool_call_id", "") or _smolagents_call_id(role, text),
        name=fields.get("message.name", ""),
        reasoning="\n".join(t for kind, t in contents if t and kind in _REASONING),
    )


def _plain(stated: str, content: str) -> Message:
    """A message of role and content only."""
    role = stated.lower()
    role, text = ROLES.get(role, role), visible(content)
    return Message(role, text, tool_call_id=_smolagents_call_id(role, text))


_remembered_plain = lru_cache(maxsize=8192)(_plain)
"""Every call of a conversation is sent all of it."""


def _request(fields: Mapping[str, str]) -> ToolRequest:
    arguments = parse_arguments(fields.get("tool_call.function.arguments", ""))
    return ToolRequest(fields.get("tool_call.function.name", ""), arguments, fields.get("tool_call.id", ""))


def _function_call(fields: Mapping[str, str]) -> tuple[ToolRequest, ...]:
    """The form before tool calls had ids."""
    name = fields.get("message.function_call_name", "")
    arguments = parse_arguments(fields.get("message.function_call_arguments_json", ""))
    return (ToolRequest(name, arguments),) if name else ()


def _smolagents_call_id(role: str, text: str) -> str:
    """The id of the answered call, which smolagents writes into the text."""
    if role != "tool-response" or not text.startswith("Call id: "):
        return ""
    return text[len("Call id: ") : 200].partition("\n")[0].strip()


def _stop_sequences(parameters: Mapping[str, Any], input_value: str) -> tuple[str, ...]:
    """From the parameters, else from the client's recorded arguments: smolagents has them only there."""
    found = text_list(parameters.get("stop") or parameters.get("stop_sequences"))
    return found or text_list(_late_field(input_value, "stop_sequences"))


def _late_field(text: str, name: str) -> Any:
    """The value of the last `"name":` in JSON text, without parsing what stands before it.

    Inside JSON strings quotes are escaped, so an unescaped `"name":` is a key.
    """
    needle = f'"{name}":'
    at = text.rfind(needle)
    if at < 0 or text[at - 1 : at] == "\\":
        return None
    start = at + len(needle)
    while text[start : start + 1].isspace():
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
