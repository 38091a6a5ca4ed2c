"""OpenInference LLM spans: flattened messages and tools, invocation parameters, token counts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from ...schemas.normalized import Message, ToolDefinition, ToolRequest
from .arguments import definitions, parse_arguments, parse_definition, tool_definitions
from .flat import Flat, put
from .messages import ROLES, parse_messages
from .values import as_index, as_int, parse_json, parse_object, text_list

_INPUT: Final = "llm.input_messages."
_OUTPUT: Final = "llm.output_messages."
_TOOLS: Final = "llm.tools."
_SCHEMA: Final = "tool.json_schema"
_CALLS: Final = "message.tool_calls."
_CONTENTS: Final = "message.contents."
_PLAIN: Final = 2  # fields of a message of role and content only: by far the most common
_REASONING: Final = ("reasoning", "thinking")
_REPLY: Final = frozenset({"content", "tool_calls", "blocks", "lc"})


def read_llm(attributes: Mapping[str, str]) -> dict[str, Any]:
    """Fields of a `NormalizedSpan` for an LLM call."""
    inputs: Flat = {}
    outputs: Flat = {}
    tools: dict[int, ToolDefinition] = {}
    for key, value in attributes.items():
        if not key.startswith("llm."):
            continue
        if key.startswith(_INPUT):
            put(inputs, key[len(_INPUT) :], value)
        elif key.startswith(_OUTPUT):
            put(outputs, key[len(_OUTPUT) :], value)
        elif key.startswith(_TOOLS):
            _put_tool(tools, key[len(_TOOLS) :], value)
    parameters = parse_object(attributes.get("llm.invocation_parameters", "")) or {}
    input_value = attributes.get("input.value", "")
    sent, late = _messages(inputs), bool(inputs) and 0 not in inputs and 1 not in inputs
    if late or not sent:
        recorded = _sent(input_value)
        late = late and len(recorded) <= len(sent)
        sent = recorded if len(recorded) > len(sent) else sent
    return {
        "oldest_missing": late,
        "input_messages": sent,
        "output_messages": _messages(outputs) or written(attributes.get("output.value", "")),
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


def _put_tool(tools: dict[int, ToolDefinition], rest: str, value: str) -> None:
    index, _, field = rest.partition(".")
    if field == _SCHEMA and (number := as_index(index)) is not None and (tool := parse_definition(value)):
        tools[number] = tool


def _messages(flat: Flat) -> tuple[Message, ...]:
    return tuple(_message(flat[i]) for i in sorted(flat))


def _message(fields: Mapping[str, str]) -> Message:
    role = fields.get("message.role", "").lower()
    role = ROLES.get(role, role)
    text = fields.get("message.content", "")
    if text and len(fields) == _PLAIN and "message.role" in fields:
        return Message(role, text, tool_call_id=_smolagents_call_id(role, text))
    requests: Flat = {}
    parts: Flat = {}
    for key, value in fields.items():
        if key.startswith(_CALLS):
            put(requests, key[len(_CALLS) :], value)
        elif key.startswith(_CONTENTS):
            put(parts, key[len(_CONTENTS) :], value)
    contents = [
        (p.get("message_content.type", ""), p.get("message_content.text", "")) for _, p in sorted(parts.items())
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


def _request(fields: Mapping[str, str]) -> ToolRequest:
    arguments = parse_arguments(fields.get("tool_call.function.arguments", ""))
    return ToolRequest(fields.get("tool_call.function.name", ""), arguments, fields.get("tool_call.id", ""))


def _function_call(fields: Mapping[str, str]) -> tuple[ToolRequest, ...]:
    """The form before tool calls had ids."""
    name = fields.get("message.function_call_name", "")
    arguments = parse_arguments(fields.get("message.function_call_arguments_json", ""))
    return (ToolRequest(name, arguments),) if name else ()


def _smolagents_call_id(role: str, text: str) -> str:
    """In smolagents the id of the call that is answered stands in the text."""
    if role != "tool-response" or not text.startswith("Call id: "):
        return ""
    return text[len("Call id: ") : 200].partition("\n")[0].strip()


def is_call(name: str, found: Mapping[str, Any], output_value: str) -> bool:
    """Whether a model was called: some mark as an LLM span what only prepares a call (LlamaIndex).

    Such a span has no reply and no usage, and is named after a private method or gives the request back.
    """
    if found["output_messages"] or found["output_tokens"] is not None or found["finish_reasons"]:
        return True
    if name.rpartition(".")[2].startswith("_"):
        return False
    if not output_value.startswith('{"messages"'):
        return True
    given_back = parse_object(output_value) or {}
    return not isinstance(given_back.get("messages"), list)


def _sent(input_value: str) -> tuple[Message, ...]:
    """Input messages out of the recorded arguments of the client, where the flattened ones are missing."""
    value = parse_json(input_value)
    messages = value.get("messages", value.get("input")) if isinstance(value, dict) else value
    if isinstance(messages, list) and len(messages) == 1 and isinstance(messages[0], list):  # LangChain: one a prompt
        messages = messages[0]
    return parse_messages([m for m in messages if isinstance(m, dict)]) if isinstance(messages, list) else ()


def written(output_value: str) -> tuple[Message, ...]:
    """The reply out of the recorded response: a message itself, or an API response that holds some."""
    value = parse_object(output_value) if output_value[:1] == "{" else None
    if value is None:
        return ()
    choices = value.get("choices")
    replies: list[Any] = [value.get("message", value)]
    if isinstance(choices, list):
        replies = [c.get("message") for c in choices if isinstance(c, dict)]
    elif isinstance(said := value.get("messages"), list) and all(_is_reply(m) for m in said):  # Agno, streamed
        replies = said
    elif isinstance(generations := value.get("generations"), list):  # LangChain: a list a prompt
        replies = [g.get("message") for some in generations[:1] if isinstance(some, list) for g in some if _is_map(g)]
    found = [r for r in replies if isinstance(r, dict) and not _REPLY.isdisjoint(r)]
    return parse_messages(found, "assistant")


def _is_map(value: Any) -> bool:
    return isinstance(value, dict)


def _is_reply(value: Any) -> bool:
    return isinstance(value, dict) and value.get("role") == "assistant"


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
