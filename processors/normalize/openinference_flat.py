"""OpenInference's flattened lists: `llm.input_messages.<index>.message.role` and the like, one attribute a field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from tracejury.schemas.normalized import Message, ToolRequest

from .arguments import parse_arguments
from .flat import Flat, put
from .messages import ROLES
from .openinference_layout import FlatMessage, layout_of
from .openinference_recorded import visible

_CALLS: Final = "message.tool_calls."
_CONTENTS: Final = "message.contents."
_SHORT: Final = 4_000  # characters of a message that is remembered
_REASONING: Final = ("reasoning", "thinking")


@dataclass(frozen=True, slots=True)
class FlatCall:
    """What a call's flattened lists hold, in order of their indices. `schemas`: its tools', as JSON text.

    `is_late`: it has input messages, but not the first two.
    """

    inputs: tuple[Message, ...]
    outputs: tuple[Message, ...]
    schemas: list[str]
    is_late: bool


def read_flat(attributes: Mapping[str, str]) -> FlatCall:
    """The flattened lists among the attributes of a call."""
    layout = layout_of(tuple(attributes))
    values = [*attributes.values(), ""]
    return FlatCall(
        _messages(layout.inputs, values),
        _messages(layout.outputs, values),
        [values[at] for at in layout.schemas],
        layout.is_late,
    )


def _messages(places: Sequence[FlatMessage], values: Sequence[str]) -> tuple[Message, ...]:
    found = []
    for role_at, content_at, names, others_at in places:
        role, content = values[role_at], values[content_at]
        if names:
            found.append(_with_others(role, content, names, tuple([values[at] for at in others_at])))
        elif len(role) + len(content) <= _SHORT:
            found.append(_remembered_plain(role, content))
        else:
            found.append(_plain(role, content))
    return tuple(found)


def _plain(stated: str, content: str) -> Message:
    """A message of role and content only."""
    role = stated.lower()
    role, text = ROLES.get(role, role), visible(content)
    return Message(role, text, tool_call_id=_smolagents_call_id(role, text))


_remembered_plain = lru_cache(maxsize=8192)(_plain)
"""Every call of a conversation is sent all of it."""


def _with_others(stated: str, content: str, names: tuple[str, ...], others: tuple[str, ...]) -> Message:
    """A message that has `others` beside role and content, of these `names`."""
    size = len(stated) + len(content) + sum(map(len, names)) + sum(map(len, others))
    return (_remembered if size <= _SHORT else _message)(stated, content, names, others)


def _message(stated: str, content: str, names: tuple[str, ...], others: tuple[str, ...]) -> Message:
    fields = dict(zip(names, others, strict=True))
    role = stated.lower()
    role = ROLES.get(role, role)
    requests: Flat = {}
    parts: Flat = {}
    for key, value in fields.items():
        if key.startswith(_CALLS):
            put(requests, key[len(_CALLS) :], value)
        elif key.startswith(_CONTENTS):
            put(parts, key[len(_CONTENTS) :], value)
    contents = [
        (p.get("message_content.type", ""), visible(p.get("message_content.text", "")))
        for _, p in sorted(parts.items())
    ]
    text = visible(content) or "\n".join(t for kind, t in contents if t and kind not in _REASONING)
    return Message(
        role=role,
        text=text,
        tool_requests=tuple(_request(requests[i]) for i in sorted(requests)) or _function_call(fields),
        tool_call_id=fields.get("message.tool_call_id", "") or _smolagents_call_id(role, text),
        name=fields.get("message.name", ""),
        reasoning="\n".join(t for kind, t in contents if t and kind in _REASONING),
    )


_remembered = lru_cache(maxsize=8192)(_message)
"""As above: a message with tool calls is sent again and again, too."""


def _request(fields: Mapping[str, str]) -> ToolRequest:
    arguments = parse_arguments(fields.get("tool_call.function.arguments", ""))
    return ToolRequest(fields.get("tool_call.function.name", ""), arguments, fields.get("tool_call.id", ""))


def _function_call(fields: Mapping[str, str]) -> tuple[ToolRequest, ...]:
    """The form before tool calls had ids."""
    name = fields.get("message.function_call_name", "")
    arguments = parse_arguments(fields.get("message.function_call_arguments_json", ""))
    return (ToolRequest(name, arguments),) if name else ()


def _smolagents_call_id(role: str, text: str) -> str:
    """The id of the answered call, which smolagents writes into the text."""
    if role != "tool-response" or not text.startswith("Call id: "):
        return ""
    return text[len("Call id: ") : 200].partition("\n")[0].strip()
