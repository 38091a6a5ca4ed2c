"""Three ways in which agents write tool calls as text, and how they retell the results."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Final, Protocol

from tracejury.schemas.normalized import Json
from tracejury.schemas.trajectory import ToolCall


class Grammar(Protocol):
    """`most`: tool calls that one reply can hold."""

    most: int

    @abstractmethod
    def reply(self, text: str, calls: Sequence[ToolCall]) -> str:
        """A reply that says `text` and asks for these calls; without any it is the answer."""

    @abstractmethod
    def results(self, calls: Sequence[tuple[ToolCall, str]]) -> str:
        """What the next prompt tells of each call's outcome."""


class ReAct:
    """`Action:` and `Action Input:` lines, one a reply, then an `Observation:` (the ReAct paper's, LangChain's)."""

    most = 1

    def reply(self, text: str, calls: Sequence[ToolCall]) -> str:
        """A thought, then the action."""
        if not calls:
            return f"Thought: I know the answer.\nFinal Answer: {text}"
        (call,) = calls
        given = json.dumps(_given(call), ensure_ascii=False, default=dict)
        return f"Thought: {text or 'I should look.'}\nAction: {call.name}\nAction Input: {given}"

    def results(self, calls: Sequence[tuple[ToolCall, str]]) -> str:
        """An observation."""
        return "".join(f"Observation: {outcome}\n" for _, outcome in calls)


class Tags:
    """`<tool_call>` and `<tool_response>` around JSON (Hermes' and Qwen's prompt format)."""

    most = 99

    def reply(self, text: str, calls: Sequence[ToolCall]) -> str:
        """The text, then a tag a call."""
        tags = [f"<tool_call>\n{_object(name=c.name, arguments=_given(c))}\n</tool_call>" for c in calls]
        return "\n".join([*([text] if text else []), *tags])

    def results(self, calls: Sequence[tuple[ToolCall, str]]) -> str:
        """A tag a result."""
        return "".join(f"<tool_response>\n{outcome}\n</tool_response>\n" for _, outcome in calls)


class Blocks:
    """A fenced JSON object with `action` and `action_input` (LangChain's structured chat agents)."""

    most = 1

    def reply(self, text: str, calls: Sequence[ToolCall]) -> str:
        """The text, then the object."""
        if not calls:
            return text
        (call,) = calls
        return f"{text}\n```json\n{_object(action=call.name, action_input=_given(call))}\n```".lstrip()

    def results(self, calls: Sequence[tuple[ToolCall, str]]) -> str:
        """The tool's name and what it gave."""
        return "".join(f"Result of {call.name}: {outcome}\n" for call, outcome in calls)


GRAMMARS: Final[dict[str, Grammar]] = {"ReAct": ReAct(), "tags": Tags(), "JSON": Blocks()}


def _given(call: ToolCall) -> Json:
    return {} if call.arguments is None else call.arguments


def _object(**fields: Any) -> str:
    return json.dumps(fields, ensure_ascii=False, default=dict)
