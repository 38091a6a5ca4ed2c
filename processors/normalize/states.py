"""A graph's state as a step's input or output: LangGraph records the whole conversation there."""

from __future__ import annotations

from typing import Any, Final

from tracejury.schemas.normalized import Message

from .messages import parse_messages
from .values import parse_json

_HEAD: Final = 64  # characters in which such a record begins with its messages
_INNER: Final = ("inputs", "outputs", "update")


def state_messages(text: str) -> tuple[Message, ...]:
    """The messages of `{"messages": [...]}`, also below "inputs" or "outputs"; () for any other text.

    A node may return commands instead: `[{"update": {"messages": [...]}, "goto": []}]`.
    """
    if '"messages"' not in text[:_HEAD] or not text.startswith(("{", "[")):
        return ()
    value: Any = parse_json(text)
    states = value if isinstance(value, list) else [value]
    messages = [message for state in states if isinstance(state, dict) for message in _messages(state)]
    return parse_messages([m for m in messages if isinstance(m, dict)])


def _messages(state: dict[str, Any]) -> list[Any]:
    inner = next((state[key] for key in _INNER if isinstance(state.get(key), dict)), state)
    messages = inner.get("messages")
    return messages if isinstance(messages, list) else []


def last_reply(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The last message, if the model wrote it."""
    return messages[-1:] if messages and messages[-1].role == "assistant" else ()
