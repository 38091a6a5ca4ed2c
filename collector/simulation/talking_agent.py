"""Agents that can be talked to, by the address that the command line gives."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final, Protocol

from tracejury.schemas.errors import ConfigError, PermanentError

ChatMessages = Sequence[Mapping[str, str]]
"""The conversation so far, each message with `role` (user or assistant) and `content`."""

MOST_ANSWERED: Final = 1_000_000
"""Characters of an answer, and bytes of an endpoint's reply."""


class UnansweredError(PermanentError):
    """The agent gave no answer; the text says why, and may quote the agent."""


class TalkingAgent(Protocol):
    """An agent that answers a conversation. It is called with the exchange's OpenTelemetry context."""

    async def answer(self, messages: ChatMessages) -> str:
        """The agent's answer to the last message. Raises UnansweredError, or whatever else keeps it from answering."""


def text_of(message: Any) -> str:
    """The words of an answer: text, or a message (mapping or object) whose `content` is text or a list of parts.

    Raises:
        UnansweredError: there are no words, or too many.
    """
    content = message.get("content") if isinstance(message, Mapping) else getattr(message, "content", message)
    if isinstance(content, list):
        parts = [part.get("text", "") if isinstance(part, Mapping) else part for part in content]
        content = "".join(part for part in parts if isinstance(part, str))
    if not isinstance(content, str):
        raise UnansweredError(f"the answer is no text but {type(content).__name__}")
    if len(content) > MOST_ANSWERED:
        raise UnansweredError(f"the answer is longer than {MOST_ANSWERED:,} characters")
    if not content.strip():
        raise UnansweredError("the answer is empty")
    return sendable(content)


def sendable(text: str) -> str:
    """The text with `?` for lone surrogates, which neither JSON nor OTLP can send."""
    return text.encode(errors="replace").decode()


def imported(address: str) -> Callable[[list[dict[str, str]]], Any]:
    """The callable at `module:function`, looked for in the working folder, too.

    Raises:
        ConfigError: what is wrong with the address, or with the module.
    """
    module, _, name = address.partition(":")
    if not module or not name:
        raise ConfigError(f"--agent: {address[:100]!r} is neither http://… or https://… nor module:function")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found = attrgetter(name)(importlib.import_module(module))
    except Exception as error:  # the module is the user's: it may raise anything
        raise ConfigError(
            f"--agent: cannot import {address[:100]} into {sys.executable}: {type(error).__name__}: {error} "
            "(talk to an agent of another environment by its URL)"
        ) from error
    if not callable(found):
        raise ConfigError(f"--agent: {address[:100]} is no function but {type(found).__name__}")
    return found  # type: ignore[no-any-return]  # whatever it takes, it is called with messages
