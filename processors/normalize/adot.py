"""AWS's distribution of OpenTelemetry (ADOT), which AgentCore uses: contents moved from spans into log records.

Source: aws-observability/aws-otel-python-instrumentation, `llo_handler.py`. Whatever instrumentation wrote the span,
what it recorded of messages becomes the body of one log record of the span:
`{"input": {"messages": [{"role", "content"}]}, "output": {"messages": [...]}}`. A content is the text that stood on the
span, or the fields of an event of it (`{"content"}`, `{"message", "finish_reason"}`), of which a list of parts is JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from tracejury.schemas.normalized import Kind, Message
from tracejury.schemas.spans import LogRecord, Span

from .arguments import parse_arguments
from .convention import Fields, MarkedConvention, unread_log_text
from .messages import parse_messages
from .results import read_result
from .states import state_messages
from .values import parse_array, parse_object
from .wrappings import wrapped_messages

_HEAD: Final = 40  # characters in which such a body begins with one of its sides
_SIDES: Final = ('"input"', '"output"')
_INNER: Final = ("content", "message")
_WHOLE: Final = ('{"messages"', '{"generations"', '{"choices"', '{"inputs"', '{"outputs"')
_TOOLS: Final = {
    "openinference.span.kind": "TOOL",
    "traceloop.span.kind": "tool",
    "gen_ai.operation.name": "execute_tool",
}


class Adot(MarkedConvention):
    """Reads the log records into which ADOT moves contents; what the span is, others say."""

    name = "adot"

    def recognises(self, span: Span, logs: Sequence[LogRecord]) -> bool:  # noqa: ARG002 - its marks are in log records
        """A log record with messages of at least one side."""
        return any(_sides(log) for log in logs)

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Fields:
        """See `Convention`."""
        bodies = {i: sides for i, log in enumerate(logs) if (sides := _sides(log))}
        in_time = sorted(bodies, key=lambda i: (logs[i].time or logs[i].observed_time, logs[i].body))
        sent = [m for i in in_time for m in bodies[i].get("input", ())]
        written = [m for i in in_time for m in bodies[i].get("output", ())]
        sessions = (logs[i].attributes.get("session.id", "") for i in in_time)
        found: Fields = {
            "kind": Kind.OTHER,
            "session_id": next((s for s in sessions if s), ""),
            "log_text": unread_log_text(logs, bodies),
        }
        if any(span.attributes.get(key) == value for key, value in _TOOLS.items()):
            return found | _tool(list(_messages(sent, "user")), list(_messages(written, "assistant")))
        return found | {"input_messages": _said(sent, "user"), "output_messages": _said(written, "assistant")}


def asks_model(log: LogRecord) -> bool:
    """Whether the record can only be of a model's call: agents, chains and tools have theirs in the same form.

    Instructions, a conversation, or the reason why the model stopped tell it.
    """
    sides = _sides(log)
    sent, written = sides.get("input", ()), sides.get("output", ())
    roles = [item.get("role") for item in sent if isinstance(item, dict)]
    told = "system" in roles or ("user" in roles and len(roles) > 1)
    contents = (item.get("content") for item in written if isinstance(item, dict))
    ended = any(isinstance(content, dict) and "finish_reason" in content for content in contents)
    return bool(written) and (told or (ended and "user" in roles))


def _sides(log: LogRecord) -> dict[str, Any]:
    """Input and output of the record's body, {} where it has not this form."""
    if not any(side in log.body[:_HEAD] for side in _SIDES):
        return {}
    body = parse_object(log.body) or {}
    sides = {side: body[side]["messages"] for side in ("input", "output") if _has_messages(body.get(side))}
    return sides if sides and body.keys() <= {"input", "output"} else {}


def _has_messages(side: Any) -> bool:
    return isinstance(side, dict) and isinstance(side.get("messages"), list)


def _said(items: Sequence[Any], role: str) -> tuple[Message, ...]:
    """The messages; where a text is a request or a response as a whole, beside its messages, the longer of the two."""
    told = tuple(_messages(items, role))
    wholes = [m for m in told if m.text.startswith(_WHOLE)]
    plain = tuple(m for m in told if m not in wholes) if wholes else told
    return max((plain, *(state_messages(m.text) or wrapped_messages(m.text, m.role) for m in wholes)), key=len)


def _messages(items: Sequence[Any], role: str) -> Iterator[Message]:
    for item in items:
        if isinstance(item, dict):
            content = item.get("content")
            fields = content if isinstance(content, dict) else {}
            ids = {"tool_call_id": fields["id"]} if isinstance(fields.get("id"), str) else {}
            yield from parse_messages({**ids, **item, "content": _content(content)}, role)


def _content(content: Any) -> Any:
    if isinstance(content, dict):
        content = next((content[key] for key in _INNER if key in content), content)
    parts = parse_array(content) if isinstance(content, str) and content[:2] == "[{" else None
    return content if parts is None else parts


def _tool(sent: Sequence[Message], written: Sequence[Message]) -> Fields:
    """A tool's call as the message that asks for it, else its arguments as a text; its result as one message."""
    asked = next((r for m in sent for r in m.tool_requests), None)
    text = next((m.text for m in sent if m.text), "")
    result = read_result(written[0].text, quoted=True) if written else None
    return {
        "tool_arguments": asked.arguments if asked else parse_arguments(text) if text else None,
        "tool_call_id": asked.call_id if asked else next((m.tool_call_id for m in sent if m.tool_call_id), ""),
        "tool_result": result.text if result else None,
        "output_text": result.text if result else "",
        "failure": result.failure if result else "",
    }
