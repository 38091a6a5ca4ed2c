"""Content of GenAI spans, recorded as span attributes, span events, or log records.

The three are alternatives for the same content. For each of input, output and tools the first that has it counts,
in that order; log records are read in order of time, whatever order they came in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tracejury.schemas.normalized import Message, ToolDefinition
from tracejury.schemas.spans import LogRecord, Span

from .arguments import definitions
from .flat import nested
from .messages import flatten, is_message, parse_messages, read_message, with_system
from .values import NOT_JSON, as_text, parse_array, parse_json, parse_object, text_of
from .wrappings import messages_in, wrapped_messages

DETAILS: Final = "gen_ai.client.inference.operation.details"
CHOICE: Final = "gen_ai.choice"
_WHOLE: Final = frozenset({"gen_ai.content.prompt", "gen_ai.content.completion", DETAILS})  # fields as on the span
_CONTENT: Final = frozenset(
    {"gen_ai.input.messages", "gen_ai.input.messages_delta", "gen_ai.output.messages"}
)  # whatever the event's name
_EVENT_BODY: Final = "gen_ai.event.content"  # Azure's SDKs: the body of a message event as one JSON attribute
_ROLES: Final = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
_INPUT_KEYS: Final = ("gen_ai.input.messages", "gen_ai.prompt", "pydantic_ai.all_messages")
_DELTA: Final = "gen_ai.input.messages_delta"  # proposed: what was sent before is not repeated
_OUTPUT_KEYS: Final = ("gen_ai.output.messages", "gen_ai.completion")
_SYSTEM: Final = "gen_ai.system_instructions"
_FLATTENED: Final = ("gen_ai.input.messages.", "gen_ai.output.messages.")
_OUTPUT_TEXT_KEYS: Final = ("final_result",)  # Pydantic AI's agent span


@dataclass(slots=True)
class Content:
    """Input and output of a span's call. `used_logs`: positions of the log records that were read.

    `speaker`: under what name the system prompt was given (Semantic Kernel writes its agent's name there).
    `inputs_go_on`: only what is new since the call before was recorded.
    """

    inputs: tuple[Message, ...] = ()
    outputs: tuple[Message, ...] = ()
    tools: tuple[ToolDefinition, ...] = ()
    output_text: str = ""
    finish_reasons: tuple[str, ...] = ()
    tool_arguments: Any = None
    tool_result: str | None = None
    speaker: str = ""
    inputs_go_on: bool = False
    used_logs: set[int] = field(default_factory=set)

    @property
    def complete(self) -> bool:
        """Whether nothing more is to be looked for."""
        return bool(self.inputs and self.outputs and self.tools)

    def fill(self, other: Content) -> None:
        """Take from `other` what is still missing."""
        self.inputs_go_on = self.inputs_go_on if self.inputs else other.inputs_go_on
        self.inputs = self.inputs or other.inputs
        self.outputs = self.outputs or other.outputs
        self.tools = self.tools or other.tools
        self.finish_reasons = self.finish_reasons or other.finish_reasons
        self.speaker = self.speaker or other.speaker
        if self.tool_arguments is None:
            self.tool_arguments = other.tool_arguments
        if self.tool_result is None:
            self.tool_result = other.tool_result


def read_content(span: Span, logs: Sequence[LogRecord]) -> Content:
    """All content of `span`, wherever it is recorded."""
    content = _from_attributes(span.attributes)
    content.output_text = next((v for k in _OUTPUT_TEXT_KEYS if (v := span.attributes.get(k))), "")
    if span.events and not content.complete:
        content.fill(_from_events((e.name, e.attributes, None) for e in span.events))
    if logs:
        ordered = sorted(
            enumerate(logs), key=lambda item: (item[1].time or item[1].observed_time, item[1].observed_time)
        )
        content.used_logs = {i for i, log in ordered if holds_messages(log)}
        if not content.complete:
            content.fill(_from_events((_event_name(log), log.attributes, _body(log)) for _, log in ordered))
    return content


def holds_messages(log: LogRecord) -> bool:
    """Whether the record is one of those in which GenAI instrumentations write messages."""
    name = _event_name(log)
    return name in _ROLES or name in _WHOLE or name == CHOICE or not _CONTENT.isdisjoint(log.attributes)


def _event_name(log: LogRecord) -> str:
    return log.event_name or log.attributes.get("event.name", "")


def _body(log: LogRecord) -> Any:
    if log.body_type in ("kvlist", "array") or log.body[:1] in ("{", "["):
        value = parse_json(log.body)
        return log.body if value is NOT_JSON else value
    return log.body or None


def _from_attributes(attributes: Mapping[str, str]) -> Content:
    system = _messages(attributes, (_SYSTEM,), "system")
    sent = _messages(attributes, _INPUT_KEYS, "user")
    outputs = _messages(attributes, _OUTPUT_KEYS, "assistant")
    if not (sent or outputs) and any(key.startswith(_FLATTENED) for key in attributes):
        system = _as_system(_flattened(attributes, _SYSTEM, "system"))
        sent = _flattened(attributes, _INPUT_KEYS[0], "user")
        outputs = _flattened(attributes, _OUTPUT_KEYS[0], "assistant")
    added = () if sent else _messages(attributes, (_DELTA,), "user")
    inputs = with_system(system, sent or added)
    tools = definitions(attributes.get("gen_ai.tool.definitions", ""))
    return Content(inputs=inputs, outputs=outputs, tools=tools, inputs_go_on=bool(added))


def _messages(attributes: Mapping[str, str], keys: Sequence[str], role: str) -> tuple[Message, ...]:
    text = next((v for k in keys if (v := attributes.get(k))), "")
    return _as_system(wrapped_messages(text, role)) if text and role == "system" else wrapped_messages(text, role)


def _as_system(found: tuple[Message, ...]) -> tuple[Message, ...]:
    """Instructions are a list of parts, not of messages."""
    told = "\n".join(m.text for m in found if m.text)
    return (Message("system", told),) if told else ()


def _flattened(attributes: Mapping[str, str], key: str, role: str) -> tuple[Message, ...]:
    """Messages that stand as one attribute a field below `key`."""
    return parse_messages(messages_in(nested(attributes, f"{key}.")) or [], role)


def _from_events(events: Iterable[tuple[str, Mapping[str, str], Any]]) -> Content:
    """`events`: (name, attributes, body or None) in order of time."""
    content = Content()
    inputs: list[Message] = []
    outputs: list[Message] = []
    finish: list[str] = []
    for name, attributes, body in events:
        if name in _WHOLE or not _CONTENT.isdisjoint(attributes):
            content.fill(_details(attributes, body))
        elif name == CHOICE:
            fields = _fields(attributes, body)
            outputs.extend(_choice(fields))
            if reason := text_of(fields.get("finish_reason")):
                finish.append(reason)
            content.tool_result = flatten(fields.get("message")) if "message" in fields else content.tool_result
        elif name in _ROLES:
            fields = _fields(attributes, body)
            inputs.extend(read_message(fields | {"role": _ROLES[name]}))
            if _ROLES[name] == "system" and not content.speaker:
                content.speaker = _speaker(fields)
            if name == "gen_ai.tool.message" and content.tool_arguments is None:
                content.tool_arguments = fields.get("content")
    if not outputs and inputs and inputs[-1].role == "assistant" and inputs[-1].text and not inputs[-1].tool_requests:
        # What answers stands among the messages (Azure's agents), with all that was done for it.
        at = next((i for i in range(len(inputs), 0, -1) if inputs[i - 1].role not in ("assistant", "tool")), 0)
        inputs, outputs = inputs[:at], inputs[at:]
    content.fill(Content(inputs=tuple(inputs), outputs=tuple(outputs), finish_reasons=tuple(finish)))
    return content


def _details(attributes: Mapping[str, str], body: Any) -> Content:
    """An operation-details record; for a tool's span, the call and its response are the messages' parts."""
    fields = dict(attributes)
    if isinstance(body, dict):
        fields |= {k: as_text(v) for k, v in body.items()}
    content = _from_attributes(fields)
    if isinstance(body, str) and not content.inputs:  # a prompt that is one text
        content.inputs = (Message("user", body),)
    request = next((r for m in content.inputs for r in m.tool_requests), None)
    response = next((m for m in content.outputs if m.role == "tool"), None)
    content.tool_arguments = request.arguments if request else None
    content.tool_result = response.text if response else None
    return content


def _speaker(fields: Mapping[str, Any]) -> str:
    """A system message's name, unless it is OpenAI's name for the two sides of an example."""
    name = text_of(fields.get("name"))
    return "" if name.startswith("example_") else name


def _fields(attributes: Mapping[str, str], body: Any) -> dict[str, Any]:
    """A message event's fields: a log's body, else the event's attributes."""
    if isinstance(body, dict):
        return body
    if whole := parse_object(attributes.get(_EVENT_BODY, "")):
        return whole
    fields = {k: _parts(v) for k, v in attributes.items()}
    if body is not None:
        fields.setdefault("content", body)
    return fields


def _parts(text: str) -> Any:
    """Message parts where `text` is a JSON list of objects; other JSON is what somebody said."""
    parts = parse_array(text) if text[:2] in ("[{", "[]", "[ ", "[\n") else None
    return parts if parts is not None and all(isinstance(p, dict) for p in parts) else text


def _choice(fields: Mapping[str, Any]) -> Iterator[Message]:
    message = fields.get("message", fields)
    written = parse_object(message) if isinstance(message, str) and message[:1] == "{" else None
    message = written if written is not None and is_message(written) else message
    if isinstance(message, dict):
        yield from read_message(message, "assistant")
    else:
        yield from read_message({"role": "assistant", "content": message})
