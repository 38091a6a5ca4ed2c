"""Messages in any wrapping: an attribute's value unwrapped by its structure, whoever sent it.

Senders encode a value as JSON, twice, as a list of JSON texts, as JSON lines, in Python's notation or as bytes, and put
the messages of it into a request, a response, a state or a serialised object. Only the attribute's own value is
unwrapped, never the content of a message: a user who pastes a document with messages in it said that document. JSON in
which no message is found is what somebody said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tracejury.schemas.normalized import Message

from .literals import read_value
from .messages import is_message, is_part, parse_messages
from .values import NOT_JSON, parse_json, text_list, text_of

_DEEPEST: Final = 6
_HOLDERS: Final = (
    "messages", "generations", "choices", "candidates", "message", "outputs", "output", "inputs", "input", "contents",
    "content", "kwargs",
)  # fmt: skip
_REQUESTS: Final = frozenset({"messages", "input", "contents"})
_FINISHED: Final = ("finish_reason", "finishReason", "stop_reason")


def wrapped_messages(text: str, role: str = "user") -> tuple[Message, ...]:
    """The messages that an attribute's value holds; those that name no role are of `role`. () for an empty one."""
    value = read_value(text)
    if value is NOT_JSON:
        return (Message(role, text),) if text else ()
    found = messages_in(value)
    return (Message(role, text),) if found is None else parse_messages(found, role)


def messages_in(value: Any, depth: int = 0) -> list[Any] | None:
    """The messages (objects or texts) in a parsed value, None where there are none; an empty list has none to tell."""
    if depth > _DEEPEST or not isinstance(value, dict | list):
        return None
    if isinstance(value, list):
        return _listed(value, depth)
    if is_message(value) or is_part(value):
        return [value] if is_message(value) else [{"parts": [value]}]
    for key in _HOLDERS:
        inner = value.get(key)
        if isinstance(inner, list | dict) and inner and (found := messages_in(inner, depth + 1)):
            return [*_system(value), *found] if key in _REQUESTS else found
    return [{"content": value["text"]}] if depth and text_of(value.get("text")) else None  # a plain generation


def _system(request: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The instructions that a request holds beside its messages (Anthropic's API, OpenAI's Responses API)."""
    given = request.get("system") or request.get("instructions")
    return [{"role": "system", "content": given}] if text_of(given) else []


def _listed(items: list[Any], depth: int) -> list[Any] | None:
    """The messages of a list; parts that stand in it without a message are one message."""
    found: list[Any] = []
    parts: list[Any] | None = None
    for item in items:
        if isinstance(item, str):
            inner = messages_in(parse_json(item), depth + 1) if item[:1] == "{" else None
            some = [item] if inner is None else inner
        elif isinstance(item, dict) and is_part(item) and not is_message(item):
            if parts is None:
                parts = []
                found.append({"parts": parts})
            parts.append(item)
            continue
        else:
            some = messages_in(item, depth + 1) or []
        parts = None
        found += some
    whole = [m for m in found if not (isinstance(m, dict) and m.get("partial") is True)]
    return (whole or found) if found or not items else None


def finish_reasons(value: Any) -> tuple[str, ...]:
    """Why the model stopped, of each alternative in a response."""
    fields = value if isinstance(value, dict) else {}
    stated = [text for key in _FINISHED if (text := text_of(fields.get(key)))]
    for key in ("choices", "generations", "candidates"):
        for item in _flat(fields.get(key)):
            info = item.get("generation_info")
            told = {**info, **item} if isinstance(info, dict) else item
            stated += [text for name in _FINISHED if (text := text_of(told.get(name)))]
    return text_list(stated)


def _flat(value: Any) -> Iterator[dict[str, Any]]:
    for item in value if isinstance(value, list) else ():
        yield from (i for i in (item if isinstance(item, list) else (item,)) if isinstance(i, dict))
