"""Spring AI's observations (`spring.ai.*`), beside OpenTelemetry GenAI attributes.

Source: https://docs.spring.io/spring-ai/reference/observability. A chat client's call, its advisors and its tool calls
are all of GenAI's operation "framework" (from 2.1 on tools are "execute_tool"): `spring.ai.kind` tells them apart. The
chat client runs the loop of calls and tools; it is named by its kind, and has no other name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tracejury.schemas.normalized import Kind, ToolDefinition
from tracejury.schemas.spans import LogRecord, Span

from .arguments import as_schema
from .convention import Fields
from .dialect import GENAI, Dialect
from .results import tool_fields
from .values import first, parse_array, parse_object, text_list

_KIND: Final = "spring.ai.kind"
_CLIENT: Final = "chat_client"
_TOOL: Final = "spring.ai.tool."
_KINDS: Final = {
    _CLIENT: Kind.AGENT,
    "tool_call": Kind.TOOL,
    "advisor": Kind.CHAIN,
    "vector_store": Kind.RETRIEVER,
}
_TOOL_NAMES: Final = "spring.ai.model.request.tool.names"


class SpringAI(Dialect):
    """Reads Spring AI's observations."""

    name = "spring-ai"
    marks = frozenset({_KIND, f"{_TOOL}definition.name", _TOOL_NAMES, "spring.ai.chat.client.stream"})

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Fields:
        """See `Convention`."""
        attributes = span.attributes
        stated = attributes.get(_KIND, "tool_call" if f"{_TOOL}definition.name" in attributes else "")
        kind = _KINDS.get(stated)
        found = GENAI.read(span, logs) if kind is None else GENAI.read_as(kind, span, logs)
        conversation = attributes.get("spring.ai.chat.client.conversation.id", "")
        # Without a memory all conversations have the name "default".
        found["session_id"] = found["session_id"] or ("" if conversation == "default" else conversation)
        if found["kind"] is Kind.TOOL:
            found |= _tool(span, found)
        elif found["kind"] is Kind.AGENT:
            found["agent_name"] = found["agent_name"] or stated
            found["tool_names"] = text_list(parse_array(attributes.get("spring.ai.chat.client.tool.names", "")))
        elif found["kind"] is Kind.LLM:
            names = text_list(parse_array(attributes.get(_TOOL_NAMES, "")))
            found["tools"] = found["tools"] or tuple(ToolDefinition(name) for name in names)
            found["finish_reasons"] = tuple(reason.lower() for reason in found["finish_reasons"])
        return found


def _tool(span: Span, found: Fields) -> Fields:
    """Empty arguments are an empty text, and without the setting `include-content` there are none."""
    attributes = span.attributes
    name = first(attributes, f"{_TOOL}definition.name", "gen_ai.tool.name")
    schema = as_schema(parse_object(attributes.get(f"{_TOOL}definition.schema", "")))
    fields: Fields = {
        "tool_name": name or span.name.rpartition(" ")[2],
        "tool_description": attributes.get(f"{_TOOL}definition.description", "") or found["tool_description"],
        "tool_parameters": schema or found["tool_parameters"],
        "tool_call_id": attributes.get(f"{_TOOL}call.id", "") or found["tool_call_id"],
    }
    sent, recorded = attributes.get(f"{_TOOL}call.arguments"), attributes.get(f"{_TOOL}call.result")
    if sent is not None or recorded is not None:
        fields |= tool_fields(sent or ("" if sent is None else "{}"), recorded)
    return fields
