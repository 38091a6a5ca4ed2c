"""AWS's distribution of OpenTelemetry (ADOT), which AgentCore uses: contents moved from spans into log records.

Source: aws-observability/aws-otel-python-instrumentation, `llo_handler.py`. Whatever instrumentation wrote the span,
what it recorded of messages becomes the body of one log record of the span:
`{"input": {"messages": [{"role", "content"}]}, "output": {"messages": [...]}}`. A content is the text that stood on the
span, or the fields of an event of it (`{"content"}`, `{"message", "finish_reason"}`), of which a list of parts is JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tracejury.schemas.normalized import Kind, Message
from tracejury.schemas.spans import LogRecord, Span

from .arguments import parse_arguments
from .convention import Fields, MarkedConvention, unread_log_text
from .messages import parse_messages
from .results import read_result
from .values import parse_array, parse_object, text_of

_HEAD: Final = 40  # characters in which such a body begins with one of its sides
_SIDES: Final = ('"input"', '"output"')
_INNER: Final = ("content", "message")
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
        sent = [m for i in in_time for m in _messages(bodies[i].get("input"), "user")]
        written = [m for i in in_time for m in _messages(bodies[i].get("output"), "assistant")]
        sessions = (logs[i].attributes.get("session.id", "") for i in in_time)
        found: Fields = {
            "kind": Kind.OTHER,
            "session_id": next((s for s in sessions if s), ""),
            "log_text": unread_log_text(logs, bodies),
        }
        if any(span.attributes.get(key) == value for key, value in _TOOLS.items()):
            return found | _tool(sent, written)
        return found | {"input_messages": tuple(sent), "output_messages": tuple(written)}


def _sides(log: LogRecord) -> dict[str, Any]:
    """Input and output of the record's body, {} where it has not this form."""
    if not any(side in log.body[:_HEAD] for side in _SIDES):
        return {}
    body = parse_object(log.body) or {}
    sides = {side: body[side]["messages"] for side in ("input", "output") if _has_messages(body.get(side))}
    return sides if sides and body.keys() <= {"input", "output"} else {}


def _has_messages(side: Any) -> bool:
    return isinstance(side, dict) and isinstance(side.get("messages"), list)


def _messages(items: Any, role: str) -> Iterator[Message]:
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict):
            yield from parse_messages({**item, "content": _content(item.get("content"))}, role)


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
    fields: Mapping[str, Any] = {
        "tool_arguments": asked.arguments if asked else parse_arguments(text) if text else None,
        "tool_call_id": asked.call_id if asked else text_of(next((m.tool_call_id for m in sent if m.tool_call_id), "")),
        "tool_result": result.text if result else None,
        "output_text": result.text if result else "",
        "failure": result.failure if result else "",
    }
    return dict(fields)
