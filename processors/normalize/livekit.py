"""LiveKit Agents' spans (`lk.*`): a session, the agent's turns, its calls of models and its tools.

Source: livekit/agents, `livekit/agents/telemetry` (`trace_types.py`, `gen_ai.py`). Newer versions write GenAI
attributes beside their own and put contents under `lk.pii.*`. Where an operation says what a span is, that holds; else
its name. Speech (recognition, synthesis, turn detection) is no act of the agent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tracejury.schemas.normalized import Kind, ToolDefinition
from tracejury.schemas.spans import LogRecord, Span

from .convention import Fields
from .dialect import GENAI, Dialect
from .messages import parse_messages, read_message
from .results import tool_fields
from .values import first, parse_array, parse_object, text_list

_KINDS: Final = {
    "agent_session": Kind.AGENT,
    "llm_node": Kind.LLM,
    "llm_request": Kind.LLM,
    "function_tool": Kind.TOOL,
}
_OPERATION: Final = "gen_ai.operation.name"
_WORKFLOW: Final = "invoke_workflow"
_AGENT: Final = "lk.agent_name"
_CONTENT: Final = (
    "chat_ctx", "response.text", "user_input", "function_tool.arguments", "room_name", "instructions", "input_text",
)  # fmt: skip
_SESSIONS: Final = ("lk.room_sid", "lk.room_name", "lk.pii.room_name", "lk.job_id")


class LiveKit(Dialect):
    """Reads LiveKit Agents' spans."""

    name = "livekit"
    marks = frozenset(
        {_AGENT, "lk.agent_label", "lk.generation_id", "lk.speech_id", "lk.function_tool.name", "lk.job_id",
         "lk.function_tools", "lk.room_sid", *(f"{p}{k}" for p in ("lk.", "lk.pii.") for k in _CONTENT)}
    )  # fmt: skip
    scopes = frozenset({"livekit-agents"})

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Fields:
        """See `Convention`."""
        attributes = span.attributes
        operation = attributes.get(_OPERATION)
        if operation is None:
            found = GENAI.read_as(_KINDS.get(span.name, Kind.CHAIN), span, logs)
        elif operation == _WORKFLOW:  # the session, in which each of the agents' turns is a run
            found = GENAI.read_as(Kind.CHAIN, span, logs)
        else:
            found = GENAI.read(span, logs)
        kind = found["kind"]
        found["session_id"] = found["session_id"] or first(attributes, *_SESSIONS)
        if kind is Kind.TOOL:
            found |= _tool(attributes, found)
        elif kind is Kind.LLM:
            found |= _call(attributes, found)
        else:
            found["agent_name" if kind is Kind.AGENT else "agent_hint"] = (
                found["agent_name"] or found["agent_hint"] or first(attributes, _AGENT, "lk.agent_label")
            )
            found["input_text"] = _own(attributes, "user_input")
            found["output_text"] = found["output_text"] or _own(attributes, "response.text")
        return found


def _own(attributes: Mapping[str, str], key: str) -> str:
    return first(attributes, f"lk.pii.{key}", f"lk.{key}")


def _tool(attributes: Mapping[str, str], found: Fields) -> Fields:
    output = attributes.get("lk.pii.function_tool.output", attributes.get("lk.function_tool.output"))
    sent = _own(attributes, "function_tool.arguments")
    fields: Fields = {
        "tool_name": attributes.get("lk.function_tool.name", "") or found["tool_name"],
        "tool_call_id": attributes.get("lk.function_tool.id", "") or found["tool_call_id"],
    }
    if sent or output is not None:
        fields |= tool_fields(sent, output)
    if attributes.get("lk.function_tool.is_error") == "true":
        fields["failure"] = fields.get("failure") or output or "error"
    return fields


def _call(attributes: Mapping[str, str], found: Fields) -> Fields:
    """The context as a list of items: messages, calls of tools, and their outputs, as OpenAI's Responses API has it."""
    context = parse_object(_own(attributes, "chat_ctx")) or {}
    text, asked = _own(attributes, "response.text"), parse_array(_own(attributes, "response.function_calls")) or []
    reply = {"content": text, "tool_calls": asked}
    names = text_list(parse_array(attributes.get("lk.function_tools", "")))
    return {
        "input_messages": found["input_messages"] or parse_messages(context.get("items", [])),
        "output_messages": found["output_messages"]
        or (tuple(read_message(reply, "assistant")) if text or asked else ()),
        "tools": found["tools"] or tuple(ToolDefinition(name) for name in names),
    }
