"""Recorded conversations with messages as of OpenAI's chat API: one JSON document each, `{task, messages}`.

Each becomes a session as `tracejury talk` makes it. A user's message begins an exchange; what the agent says before the
first one, as a greeting, is a message that its first reply is sent.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from tracejury.judges.llm.data_files import problems_of
from tracejury.processors.normalize.stated import TASK_ID
from tracejury.schemas.simulation import PERSONA, SIMULATED, TRIAL

from .session import Call, Exchange, Reply, Session, message, result_message, time_of

SERVICE: Final = "tracejury-talk"
"""Of a conversation that names none."""
_TOOL: Final = ("tool", "function")

Content = str | list[str | dict[str, Any]] | None


class _Chat(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)


class ChatFunction(_Chat):
    """What a call calls. `arguments`: JSON as text, or an object."""

    name: Annotated[str, StringConstraints(min_length=1)]
    arguments: str | dict[str, Any] = ""


class ChatCall(_Chat):
    """One of an assistant's `tool_calls`."""

    id: str = ""
    function: ChatFunction

    @property
    def text(self) -> str:
        """Its arguments as they are sent."""
        given = self.function.arguments
        return given if isinstance(given, str) else json.dumps(given)


class ChatMessage(_Chat):
    """A message; what else it has is not read. `failed`, ours: it is the result of a call that failed."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Content = None
    refusal: str | None = None
    tool_calls: tuple[ChatCall, ...] | None = None
    function_call: ChatFunction | None = None
    tool_call_id: str | None = None
    timestamp: str | None = None
    failed: bool = False

    @property
    def text(self) -> str:
        """Its words; parts of other kinds by their names."""
        if isinstance(self.content, list):
            said = (p if isinstance(p, str) else str(p.get("text") or f"[{p.get('type')}]") for p in self.content)
            return "\n".join(said)
        return self.content or self.refusal or ""


class Conversation(BaseModel):
    """One conversation of a user with an agent, on a task."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    task: Annotated[str, StringConstraints(min_length=1, max_length=500)] | int
    persona: Annotated[str, StringConstraints(max_length=100)] = ""
    trial: Annotated[int, Field(ge=1)] | None = None
    service: Annotated[str, StringConstraints(min_length=1, max_length=500)] = SERVICE
    messages: Annotated[tuple[ChatMessage, ...], Field(min_length=1)]


def is_conversation(document: object) -> bool:
    """Whether decoded JSON is meant as a conversation."""
    return isinstance(document, dict) and "task" in document and isinstance(document.get("messages"), list)


def parse(documents: Iterable[object]) -> list[Session]:
    """The sessions; a conversation that stands there twice is two, and each has the same id when it is sent again.

    Raises:
        ValueError: a document is no conversation, in one line with its number.
    """
    seen: Counter[str] = Counter()
    sessions = []
    for number, document in enumerate(documents, 1):
        try:
            conversation = Conversation.model_validate(document)
            known = blake2b(json.dumps(document, sort_keys=True).encode(), digest_size=16).hexdigest()
            seen[known] += 1
            sessions.append(_session(conversation, f"{known}-{seen[known]}" if seen[known] > 1 else known))
        except ValidationError as error:
            raise ValueError(f"conversation {number}: {problems_of(error)}") from None
        except ValueError as error:
            raise ValueError(f"conversation {number}: {error}") from None
    return sessions


def _session(conversation: Conversation, session_id: str) -> Session:
    attributes: dict[str, Any] = {"session.id": session_id, TASK_ID: str(conversation.task)}
    attributes |= {TRIAL: conversation.trial} if conversation.trial else {}
    attributes |= {PERSONA: conversation.persona} if conversation.persona else {}
    session = Session(session_id, conversation.service, simulated=attributes | {SIMULATED: True})
    session.exchanges, _ = exchanges_of(conversation.messages)
    if not session.exchanges:
        raise ValueError("messages: there is none of a user")
    return session


def exchanges_of(messages: Iterable[ChatMessage]) -> tuple[list[Exchange], list[Mapping[str, Any]]]:
    """The exchanges that messages make, and the messages after the last reply.

    Raises:
        ValueError: what is wrong with a message, in one line.
    """
    exchanges: list[Exchange] = []
    received: list[Mapping[str, Any]] = []
    asked: Sequence[Call] = ()
    for number, one in enumerate(messages):
        time = time_of({"timestamp": one.timestamp})
        if one.timestamp and not time:
            raise ValueError(f"messages.{number}.timestamp: it is no time in ISO 8601")
        if one.role in _TOOL:
            call = _answered(asked, one, number)
            call.result, call.failed, call.time = one.text, one.failed, time
            received.append(result_message(call))
        elif one.role == "assistant" and (exchanges or _calls(one)):
            if not exchanges:
                exchanges.append(Exchange("", time))
            reply = Reply(time, text=one.text, calls=_calls(one), received=received)
            exchanges[-1].replies.append(reply)
            received, asked = [], reply.calls
        else:
            if one.role == "user":
                if one.content in (None, []):
                    raise ValueError(f"messages.{number}.content: a message of a user has one")
                exchanges.append(Exchange(one.text, time))
            received.append(message("system" if one.role == "developer" else one.role, one.text))
    return exchanges, received


def _calls(one: ChatMessage) -> list[Call]:
    called = [(call.id, call.function) for call in one.tool_calls or ()]
    called += [("", one.function_call)] if one.function_call else []
    return [Call(call_id, function.name, function.arguments or "{}") for call_id, function in called]


def _answered(asked: Sequence[Call], one: ChatMessage, number: int) -> Call:
    """The call of the last reply that a message is the result of."""
    wanted = one.tool_call_id or ""
    for call in asked:
        if call.result is None and (not wanted or call.id == wanted):
            return call
    raise ValueError(f"messages.{number}: it is the result of no call before it")
