"""Langfuse's OpenTelemetry SDK: `langfuse.observation.*` and `langfuse.trace.*`.

Source: the packages langfuse (Python, version 3 and later) and @langfuse/otel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tracejury.schemas.normalized import Kind, Message
from tracejury.schemas.spans import LogRecord, Span

from .arguments import function_input, parse_arguments, tool_definitions
from .convention import Fields, MarkedConvention
from .messages import parse_messages
from .results import read_result
from .values import NOT_JSON, as_int, first, parse_json, parse_object, text_list
from .wrappings import messages_in

_OBSERVATION: Final = "langfuse.observation."
_TYPE: Final = f"{_OBSERVATION}type"
_INPUT: Final = f"{_OBSERVATION}input"
_OUTPUT: Final = f"{_OBSERVATION}output"
_MODEL: Final = f"{_OBSERVATION}model.name"
_SESSIONS: Final = ("session.id", "langfuse.session.id")
_USAGE_IN: Final = ("input", "prompt_tokens", "input_tokens", "promptTokens")
_USAGE_OUT: Final = ("output", "completion_tokens", "output_tokens", "completionTokens")
_METADATA: Final = (f"{_OBSERVATION}metadata.", "langfuse.trace.metadata.")

_KINDS: Final = {
    "generation": Kind.LLM,
    "embedding": Kind.EMBEDDING,
    "agent": Kind.AGENT,
    "tool": Kind.TOOL,
    "retriever": Kind.RETRIEVER,
    "evaluator": Kind.EVALUATOR,
    "guardrail": Kind.GUARDRAIL,
}


class Langfuse(MarkedConvention):
    """Reads Langfuse's own attributes."""

    name = "langfuse"
    marks = frozenset({_TYPE, _INPUT, _OUTPUT, _MODEL, f"{_OBSERVATION}level", "langfuse.trace.name", _SESSIONS[1]})

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Fields:  # noqa: ARG002 - it writes no log records
        """See `Convention`."""
        attributes = span.attributes
        kind = _KINDS.get(attributes.get(_TYPE, ""), Kind.LLM if _MODEL in attributes else Kind.CHAIN)
        sent = first(attributes, _INPUT) or attributes.get("langfuse.trace.input", "")
        output = first(attributes, _OUTPUT) or attributes.get("langfuse.trace.output", "")
        result = read_result(output, quoted=True)
        found: Fields = {
            "kind": kind,
            "session_id": first(attributes, *_SESSIONS),
            "agent_hint": first(attributes, *(f"{m}{k}" for m in _METADATA for k in ("lc_agent_name", "agent_name"))),
            "input_text": read_result(sent, quoted=True).text if sent[:1] == '"' else function_input(sent),
            "output_text": result.text,
            "failure": _failure(attributes),
        }
        if kind is Kind.AGENT:
            found["agent_name"] = span.name
        elif kind is Kind.TOOL:
            found |= {
                "tool_name": span.name,
                "tool_call_id": result.call_id,
                "tool_arguments": parse_arguments(found["input_text"]) if sent else None,
                "tool_result": result.text if _OUTPUT in attributes else None,
            }
            found["failure"] = found["failure"] or result.failure
        elif kind is Kind.LLM:
            found |= _call(attributes, sent, output)
        return found


def _failure(attributes: Mapping[str, str]) -> str:
    if attributes.get(f"{_OBSERVATION}level") != "ERROR":
        return ""
    return attributes.get(f"{_OBSERVATION}status_message") or "error"


def _call(attributes: Mapping[str, str], sent: str, output: str) -> Fields:
    items, tools = _input_messages(sent)
    parameters = parse_object(attributes.get(f"{_OBSERVATION}model.parameters", "")) or {}
    usage = parse_object(attributes.get(f"{_OBSERVATION}usage_details", "")) or {}
    return {
        "input_messages": parse_messages(items),
        "output_messages": _output_messages(output),
        "tools": tool_definitions(tools or parameters.get("tools")),
        "model": attributes.get(_MODEL, ""),
        "stop_sequences": text_list(parameters.get("stop") or parameters.get("stop_sequences")),
        "max_tokens": _count(parameters, ("max_tokens", "max_completion_tokens")),
        "input_tokens": _count(usage, _USAGE_IN),
        "output_tokens": _count(usage, _USAGE_OUT),
    }


def _input_messages(text: str) -> tuple[list[Any], list[Any]]:
    """Messages and tools: the input is a list of messages, an object that holds both, or one text.

    The LangChain handler appends the tools to the messages, as messages of role "tool" whose content is a definition.
    """
    value = parse_json(text)
    if value is NOT_JSON:
        return ([text] if text else []), []
    tools: list[Any] = []
    if isinstance(value, dict):
        tools = value["tools"] if isinstance(value.get("tools"), list) else []
        value = value.get("messages", value.get("input", [value]))
    items = value if isinstance(value, list) else [value]
    defined = [m["content"] for m in items if _is_definition(m)]
    return [m for m in items if not _is_definition(m)], tools or defined


def _is_definition(message: Any) -> bool:
    content = message.get("content") if isinstance(message, dict) else None
    return isinstance(content, dict) and isinstance(content.get("function"), dict)


def _output_messages(text: str) -> tuple[Message, ...]:
    value = parse_json(text)
    if value is NOT_JSON:
        told = read_result(text, quoted=True).text
        return (Message("assistant", told),) if told else ()
    if isinstance(value, dict) and isinstance(value.get("message"), dict):
        value = value["message"]
    found = messages_in(value)
    return parse_messages(value if found is None else found, "assistant")


def _count(fields: Mapping[str, Any], names: Sequence[str]) -> int | None:
    return next(
        (as_int(str(v)) for n in names if isinstance(v := fields.get(n), int | float) and not isinstance(v, bool)), None
    )
