"""Simulated users: each says what comes next in a conversation, by a script or by a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tracejury.collector.judging.llm.run_prompts import run_prompts
from tracejury.judges.llm.client import Client
from tracejury.judges.llm.conversation import together
from tracejury.judges.writing.persona_messages import UserBrief, UserMessage, next_message
from tracejury.schemas.errors import PermanentError, TracejuryError

from .talking_agent import ChatMessages, sendable


class UserFailedError(PermanentError):
    """The model of the user gave no message; the text says why, in one line."""


class SimulatedUser(Protocol):
    """The user of one session."""

    async def next_message(self, messages: ChatMessages) -> str | None:
        """What it says after these messages, which the agent has answered; None at the end. Raises UserFailedError."""


@dataclass(frozen=True, slots=True)
class ScriptedUser:
    """Says its turns, whatever the agent answers."""

    turns: Sequence[str]

    async def next_message(self, messages: ChatMessages) -> str | None:
        """See `SimulatedUser`."""
        number = len(messages) // 2
        return self.turns[number] if number < len(self.turns) else None


@dataclass(slots=True)
class PersonaUser:
    """Says what a model writes, one call a message; ends after `most_turns`, whatever the model wants."""

    brief: UserBrief
    client: Client
    most_turns: int
    trial: int
    max_tokens: int
    _said: list[UserMessage] = field(default_factory=list)

    async def next_message(self, messages: ChatMessages) -> str | None:
        """See `SimulatedUser`."""
        if len(self._said) == self.most_turns:
            return None
        answers = [message["content"] for message in messages if message["role"] == "assistant"]
        asking = next_message(self.brief, self._said, answers, trial=self.trial, max_tokens=self.max_tokens)
        try:
            (said,) = await run_prompts(together([asking]), self.client)
        except TracejuryError as error:
            raise UserFailedError(" ".join(str(error).split())) from error
        if said.answer is None:
            raise UserFailedError(said.failure)
        if said.answer.done:
            return None
        self._said.append(said.answer)
        return sendable(said.answer.message)
