"""Messages between the agents of a runtime (AutoGen's core): what agents say where no model call has a span.

The span of a message that a runtime delivers stands for nothing an agent did; its `message` attribute tells what the
sending agent said, asked for or was given back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tracejury.schemas.normalized import Kind, Message, ToolRequest
from tracejury.schemas.spans import LogRecord, Span

from .arguments import parse_arguments
from .convention import Fields, MarkedConvention
from .values import as_text, parse_object, text_of

_MESSAGE: Final = "message"
_USER: Final = "user"


class Runtime(MarkedConvention):
    """Reads the messages of an agent runtime."""

    name = "autogen"
    marks = frozenset({"recipient_agent_class", "sender_agent_class"})

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Fields:  # noqa: ARG002 - it writes no log records
        """See `Convention`."""
        delivered = parse_object(span.attributes.get(_MESSAGE, "")) or {}
        return {"kind": Kind.OTHER, "input_messages": tuple(m for e in _events(delivered) for m in _messages(e))}


def _events(delivered: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """One event, the task's messages, or an agent's response with all that led to it."""
    response = delivered.get("response")
    answered: Mapping[str, Any] = response if isinstance(response, dict) else {}
    for some in (delivered.get("messages"), answered.get("inner_messages")):
        yield from (e for e in (some if isinstance(some, list) else ()) if isinstance(e, dict))
    for one in (delivered.get(_MESSAGE), answered.get("chat_message")):
        if isinstance(one, dict):
            yield one


def _messages(event: Mapping[str, Any]) -> Iterator[Message]:
    source, content = text_of(event.get("source")), event.get("content")
    role = _USER if source == _USER else "assistant"
    if isinstance(content, str) and content:
        yield Message(role, content, name=source)
    items = [item for item in content if isinstance(item, dict)] if isinstance(content, list) else []
    if requests := tuple(_request(item) for item in items if text_of(item.get("name")) and "arguments" in item):
        yield Message(role, "", requests, name=source)
    for item in items:
        if call_id := text_of(item.get("call_id")):
            yield Message("tool", as_text(item.get("content")), tool_call_id=call_id, name=text_of(item.get("name")))


def _request(item: Mapping[str, Any]) -> ToolRequest:
    return ToolRequest(item["name"], parse_arguments(as_text(item["arguments"])), text_of(item.get("id")))
