"""Vercel AI SDK (`ai.*`): a loop of calls (`ai.generateText`), its calls (`….doGenerate`) and its tool calls.

Source: the SDK's telemetry documentation (versions 3 to 6) and what it was seen to send. Every loop has the same span
name; the function id of its telemetry settings is the only name that an agent gets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tracejury.schemas.normalized import Kind, Message
from tracejury.schemas.spans import LogRecord, Span

from .arguments import definitions
from .convention import Fields, MarkedConvention
from .messages import parse_messages, read_message, with_system
from .results import tool_fields
from .values import NOT_JSON, as_int, first, parse_array, parse_json, text_list, text_of

_OPERATION: Final = "ai.operationId"
_FUNCTION: Final = "ai.telemetry.functionId"
_METADATA: Final = "ai.telemetry.metadata."
_SESSIONS: Final = tuple(
    _METADATA + k for k in ("sessionId", "session_id", "threadId", "thread_id", "conversationId", "chatId")
)

_LOOPS: Final = ("ai.generateText", "ai.streamText", "ai.generateObject", "ai.streamObject", "ai.agent")
_CALLS: Final = (".doGenerate", ".doStream")


class Vercel(MarkedConvention):
    """Reads spans of the Vercel AI SDK."""

    name = "vercel"
    marks = frozenset({_OPERATION, _FUNCTION, "ai.toolCall.name", "ai.model.id", "ai.prompt", "ai.prompt.messages"})

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Fields:  # noqa: ARG002 - it writes no log records
        """See `Convention`."""
        attributes = span.attributes
        kind = _kind(first(attributes, _OPERATION) or span.name)
        name = attributes.get(_FUNCTION, "")
        found: Fields = {
            "kind": kind,
            "agent_name": name if kind is Kind.AGENT else "",
            "agent_hint": "" if kind is Kind.AGENT else name,
            "session_id": first(attributes, *_SESSIONS),
        }
        if kind is Kind.TOOL:
            found |= _tool(attributes)
        elif kind in (Kind.LLM, Kind.AGENT):
            found |= _call(attributes)
            found["max_steps"] = as_int(attributes.get("ai.settings.maxSteps"))
        return found


def _kind(operation: str) -> Kind:
    operation = operation.partition(" ")[0]
    if operation.endswith(_CALLS):
        return Kind.LLM
    if operation in _LOOPS:
        return Kind.AGENT
    if operation == "ai.toolCall":
        return Kind.TOOL
    return Kind.EMBEDDING if operation.endswith(".doEmbed") else Kind.CHAIN


def _tool(attributes: Mapping[str, str]) -> Fields:
    arguments = first(attributes, "ai.toolCall.args", "ai.toolCall.input")
    return {
        "tool_name": attributes.get("ai.toolCall.name", ""),
        "tool_call_id": attributes.get("ai.toolCall.id", ""),
    } | tool_fields(arguments, attributes.get("ai.toolCall.result"))


def _call(attributes: Mapping[str, str]) -> Fields:
    text = first(attributes, "ai.response.text", "ai.response.object", "ai.result.text", "ai.result.object")
    return {
        "input_messages": _input_messages(attributes),
        "output_messages": _output_messages(attributes, text),
        "output_text": text,
        "tools": definitions(attributes.get("ai.prompt.tools", "")),
        "model": first(attributes, "ai.response.model", "ai.model.id"),
        "max_tokens": as_int(first(attributes, "ai.settings.maxOutputTokens", "ai.settings.maxTokens")),
        "finish_reasons": text_list(first(attributes, "ai.response.finishReason", "ai.finishReason")),
        "input_tokens": as_int(first(attributes, "ai.usage.inputTokens", "ai.usage.promptTokens")),
        "output_tokens": as_int(first(attributes, "ai.usage.outputTokens", "ai.usage.completionTokens")),
    }


def _input_messages(attributes: Mapping[str, str]) -> tuple[Message, ...]:
    if items := parse_array(attributes.get("ai.prompt.messages", "")):
        return parse_messages(items)
    text = attributes.get("ai.prompt", "")
    prompt = parse_json(text)
    if prompt is NOT_JSON:
        return (Message("user", text),) if text else ()
    if not isinstance(prompt, dict):
        return parse_messages(prompt)
    said: Any = prompt.get("messages") or prompt.get("prompt") or ()
    messages = parse_messages(list(said) if isinstance(said, list | tuple) else [said])
    return with_system((Message("system", text_of(prompt.get("system"))),), messages)


def _output_messages(attributes: Mapping[str, str], text: str) -> tuple[Message, ...]:
    calls = parse_array(first(attributes, "ai.response.toolCalls", "ai.result.toolCalls"))
    reasoning = attributes.get("ai.response.reasoning", "")
    if not (text or calls or reasoning):
        return ()
    message = {"content": text, "tool_calls": [_request(c) for c in calls or ()], "reasoning_content": reasoning}
    return tuple(read_message(message, "assistant"))


def _request(call: Any) -> Any:
    """The SDK names the call's fields its own way."""
    if not isinstance(call, dict):
        return None
    arguments = call.get("input", call.get("args"))
    return {"id": call.get("toolCallId"), "name": call.get("toolName"), "arguments": arguments}
