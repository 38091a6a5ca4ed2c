"""Messages within what a client was sent and gave back: requests and responses of models' APIs, and of LangChain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from tracejury.schemas.normalized import Message

from .messages import parse_messages, with_system
from .values import NOT_JSON, parse_json, text_list, text_of

_LISTS: Final = ("messages", "generations", "choices", "candidates", "replies", "contents", "output", "input")
_ONE: Final = ("message", "content")
_DEEPEST: Final = 6
_FINISHED: Final = ("finish_reason", "finishReason", "stop_reason")


def wrapped_messages(text: str, role: str = "user") -> tuple[Message, ...]:
    """The messages in `text`, JSON of a request or a response, or plain text that `role` said; () if there are none.

    A system prompt that stands beside the messages (Anthropic's `system`, the Responses API's `instructions`) is their
    first.
    """
    value = parse_json(text)
    if value is NOT_JSON:
        return (Message(role, text),) if text else ()
    messages = tuple(m for item in _within(value, _DEEPEST) for m in parse_messages(item, role))
    given = value.get("system", value.get("instructions")) if isinstance(value, dict) else None
    if not given or role != "user":
        return messages
    system = parse_messages({"role": "system", "content": given}, "system")
    return with_system((Message("system", m.text) for m in system), messages)


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


def _within(value: Any, depth: int) -> Iterator[Any]:
    """The messages in `value`, which may be wrapped in objects and lists of one; anything else holds none."""
    if depth and isinstance(value, list):
        for item in value:
            yield from _within(item, depth - 1)
    elif isinstance(value, str):
        yield value
    elif not isinstance(value, dict):
        return
    elif "role" in value or "lc" in value or ("type" in value and not _wraps(value)):
        yield value
    elif depth and (inner := next((value[k] for k in (*_LISTS, *_ONE) if _holds(value, k)), None)) is not None:
        yield from _within(inner, depth - 1)
    elif isinstance(value.get("text"), str):
        yield value["text"]


def _wraps(value: dict[str, Any]) -> bool:
    """Whether an object with a type is none of a message: an LLM's result, a generation."""
    return any(isinstance(value.get(key), list) for key in _LISTS) or isinstance(value.get("message"), dict)


def _holds(value: dict[str, Any], key: str) -> bool:
    inner = value.get(key)
    return isinstance(inner, list) or (key in _ONE and isinstance(inner, dict))
