"""OpenInference LLM spans: messages and tools, invocation parameters, token counts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from tracejury.schemas.normalized import Message

from .arguments import definitions, parse_definition, tool_definitions
from .openinference_flat import read_flat
from .openinference_recorded import recorded_finish, recorded_input, recorded_output, visible
from .values import as_int, parse_object, text_list

_DECODER: Final = json.JSONDecoder()


def read_llm(attributes: Mapping[str, str]) -> dict[str, Any]:
    """Fields of a `NormalizedSpan` for an LLM call."""
    flat = read_flat(attributes)
    parameters = parse_object(attributes.get("llm.invocation_parameters", "")) or {}
    input_value = attributes.get("input.value", "")
    messages, late = flat.inputs, flat.is_late
    if late or not messages:
        recorded = recorded_input(input_value)
        late = late and len(recorded) <= len(messages)
        messages = recorded if len(recorded) > len(messages) else messages
    output_value = attributes.get("output.value", "")
    reply, text = _reply(flat.outputs, output_value)
    return {
        "output_text": visible(text),
        "oldest_missing": late,
        "input_messages": messages,
        "output_messages": reply,
        "tools": tuple(tool for schema in flat.schemas if (tool := parse_definition(schema)))
        or tool_definitions(parameters.get("tools"))
        or definitions(attributes.get("llm.tools", "")),
        "model": attributes.get("llm.model_name", ""),
        "stop_sequences": _stop_sequences(parameters, input_value),
        "max_tokens": _max_tokens(parameters),
        "finish_reasons": text_list(attributes.get("llm.finish_reason") or recorded_finish(output_value)),
        "input_tokens": as_int(attributes.get("llm.token_count.prompt")),
        "output_tokens": as_int(attributes.get("llm.token_count.completion")),
    }


def _reply(flat: tuple[Message, ...], output_value: str) -> tuple[tuple[Message, ...], str]:
    """The flattened reply; the recorded one where that is missing, or says nothing while the recorded one does.

    LangChain's instrumentation flattens no call whose arguments are no JSON. Also the output as text: none, where it is
    the record of a reply that says nothing.
    """
    if any(m.text or m.tool_requests or m.reasoning for m in flat):
        return flat, output_value
    recorded = recorded_output(output_value)
    said = any(m.text or m.tool_requests for m in recorded)
    empty = (recorded and not said) or (flat and output_value == f"{flat[-1].role}: None")  # LlamaIndex's notation
    return recorded if not flat or said else flat, "" if empty else output_value


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
        return _DECODER.raw_decode(text, start)[0]
    except (ValueError, RecursionError):
        return None


def _max_tokens(parameters: Mapping[str, Any]) -> int | None:
    for name in ("max_completion_tokens", "max_tokens", "max_output_tokens"):
        value = parameters.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None
