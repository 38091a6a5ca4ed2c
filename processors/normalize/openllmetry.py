"""OpenLLMetry (Traceloop): `traceloop.*`, and the flattened messages of its older versions.

Source: the packages opentelemetry-semantic-conventions-ai and traceloop-sdk, and what they were seen to send. Newer
versions write OpenTelemetry GenAI attributes beside their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tracejury.schemas.normalized import Kind, Message, ToolDefinition
from tracejury.schemas.spans import LogRecord, Span

from .arguments import function_input, parse_arguments
from .convention import Fields, MarkedConvention
from .flat import flat_items
from .messages import read_message
from .results import read_result
from .states import last_reply, state_messages
from .values import as_int, as_text, first, parse_array, parse_object

_KIND: Final = "traceloop.span.kind"
_TYPE: Final = "llm.request.type"
_NAME: Final = "traceloop.entity.name"
_INPUT: Final = "traceloop.entity.input"
_OUTPUT: Final = "traceloop.entity.output"
_PROPERTIES: Final = "traceloop.association.properties."
_PROMPT: Final = "gen_ai.prompt."
_FIRST_PROMPTS: Final = (f"{_PROMPT}0.", f"{_PROMPT}1.")
_COMPLETION: Final = "gen_ai.completion."
_FUNCTIONS: Final = "llm.request.functions."
_CALLS: Final = "tool_calls."

_KINDS: Final = {"agent": Kind.AGENT, "tool": Kind.TOOL, "workflow": Kind.CHAIN, "task": Kind.CHAIN}
_TYPES: Final = (("embed", Kind.EMBEDDING), ("rerank", Kind.RERANKER))
_HANDOFF: Final = "handoff"
_TO_AGENT: Final = "gen_ai.handoff.to_agent"
_SESSIONS: Final = tuple(_PROPERTIES + k for k in ("session_id", "thread_id", "conversation_id", "chat_id"))


class OpenLLMetry(MarkedConvention):
    """Reads OpenLLMetry's own attributes."""

    name = "openllmetry"
    marks = frozenset(
        {_KIND, _NAME, _INPUT, _TYPE, "traceloop.workflow.name", "traceloop.entity.path",
         f"{_PROMPT}0.content", f"{_PROMPT}0.role", f"{_COMPLETION}0.content", f"{_COMPLETION}0.role",
         f"{_COMPLETION}0.finish_reason"}
    )  # fmt: skip

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Fields:  # noqa: ARG002 - it writes no log records
        """See `Convention`."""
        attributes = span.attributes
        kind = _kind(attributes)
        name = attributes.get(_NAME, "")
        output = attributes.get(_OUTPUT)
        result = read_result(output, quoted=True) if output else None
        found: Fields = {
            "kind": kind,
            "session_id": first(attributes, *_SESSIONS),
            "agent_hint": attributes.get(f"{_PROPERTIES}lc_agent_name", ""),
            "input_text": function_input(attributes.get(_INPUT, "")),
            "output_text": result.text if result else "",
        }
        if kind in (Kind.AGENT, Kind.CHAIN):
            found["input_messages"] = state_messages(found["input_text"])
            found["output_messages"] = last_reply(state_messages(found["output_text"]))
        if kind is Kind.AGENT:
            found["agent_name"] = name
        elif kind is Kind.TOOL and attributes[_KIND] == _HANDOFF:
            found["tool_name"] = f"handoff to {attributes[_TO_AGENT]}"
        elif kind is Kind.TOOL:
            found["tool_name"] = name or attributes.get("gen_ai.tool.name") or span.name.removesuffix(".tool")
            found["tool_arguments"] = parse_arguments(attributes[_INPUT]) if _INPUT in attributes else None
            found["tool_result"] = result.text if result else output
            found["tool_call_id"] = result.call_id if result else ""
            found["failure"] = result.failure if result else ""
        elif kind is Kind.LLM:
            found |= _call(attributes)
        return found


def _kind(attributes: Mapping[str, str]) -> Kind:
    if attributes.get(_KIND) == _HANDOFF:
        return Kind.TOOL if attributes.get(_TO_AGENT) else Kind.CHAIN
    if _KIND in attributes:
        return _KINDS.get(attributes[_KIND], Kind.CHAIN)
    if _TYPE in attributes:
        return next((kind for word, kind in _TYPES if word in attributes[_TYPE]), Kind.LLM)
    return Kind.LLM if any(k.startswith((_PROMPT, _COMPLETION)) for k in attributes) else Kind.CHAIN


def _call(attributes: Mapping[str, str]) -> Fields:
    completions, prompts = flat_items(attributes, _COMPLETION), flat_items(attributes, _PROMPT)
    return {
        "oldest_missing": bool(prompts) and not any(k.startswith(_FIRST_PROMPTS) for k in attributes),
        "input_messages": tuple(m for item in prompts for m in _messages(item, "user")),
        "output_messages": tuple(m for item in completions for m in _messages(item, "assistant")),
        "finish_reasons": tuple(reason for item in completions if (reason := item.get("finish_reason"))),
        "tools": tuple(t for item in flat_items(attributes, _FUNCTIONS) if (t := _tool(item))),
        "model": first(attributes, "gen_ai.request.model", "gen_ai.response.model"),
        "max_tokens": as_int(first(attributes, "gen_ai.request.max_tokens", "llm.request.max_tokens")),
        "input_tokens": as_int(first(attributes, "gen_ai.usage.prompt_tokens", "gen_ai.usage.input_tokens")),
        "output_tokens": as_int(first(attributes, "gen_ai.usage.completion_tokens", "gen_ai.usage.output_tokens")),
    }


def _messages(item: Mapping[str, str], role: str) -> tuple[Message, ...]:
    content = item.get("content", "")
    calls: list[dict[str, str]] = [
        {"id": c.get("id", ""), "name": c.get("name", ""), "arguments": c.get("arguments", "")}
        for c in flat_items(item, _CALLS)
    ]
    if name := item.get("function_call.name"):
        calls.append({"name": name, "arguments": item.get("function_call.arguments", "")})
    parts = parse_array(content) if content[:2] in ("[{", "[ ") else None
    message = {
        "role": item.get("role", ""),
        "content": parts if parts and all(isinstance(p, dict) for p in parts) else content,
        "tool_calls": calls,
        "tool_call_id": item.get("tool_call_id", ""),
        "reasoning_content": item.get("reasoning", ""),
    }
    return tuple(read_message(message, role))


def _tool(item: Mapping[str, str]) -> ToolDefinition | None:
    name = as_text(item.get("name"))
    schema = first(item, "parameters", "input_schema")
    return ToolDefinition(name, item.get("description", ""), parse_object(schema)) if name else None
