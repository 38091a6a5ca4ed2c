"""One vocabulary for all conventions: what a span says, whatever instrumentation wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from .spans import STATUS_ERROR, Span


class Kind(StrEnum):
    """What a span stands for."""

    AGENT = "agent"
    LLM = "llm"
    TOOL = "tool"
    CHAIN = "chain"
    RETRIEVER = "retriever"
    EMBEDDING = "embedding"
    RERANKER = "reranker"
    GUARDRAIL = "guardrail"
    EVALUATOR = "evaluator"
    PLAN = "plan"
    OTHER = ""


Json = Mapping[str, Any] | list[Any] | str | float | int | bool | None


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """A tool call as an LLM message asks for it. `arguments`: a JSON object where it parses, else the text."""

    name: str
    arguments: Json
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of an LLM call.

    `role` as recorded, lower case ("system", "user", "assistant", "tool", "tool-call", "tool-response" …), but "tool"
    for a result that stands as a part in a message of another role, which is then a message of its own;
    `text` all text parts joined by newlines; a tool response's text is its result and `tool_call_id` its request.
    """

    role: str
    text: str
    tool_requests: tuple[ToolRequest, ...] = ()
    tool_call_id: str = ""
    name: str = ""
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool that a call was given. `parameters`: its JSON schema (an object schema), or None where not recorded."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ExceptionInfo:
    """An `exception` event of a span."""

    type: str
    message: str


@dataclass(frozen=True, slots=True)
class NormalizedSpan:
    """A span in one vocabulary; `raw` is the stored span it was read from.

    Fields that the instrumentation does not record are empty, never guessed. For a TOOL span `tool_*` hold the
    executed call, its arguments unwrapped ({"args": [], "kwargs": {...}} becomes the kwargs); for an LLM span
    `input_messages`, `output_messages`, `tools`, `stop_sequences` and limits hold the call.
    """

    raw: Span
    kind: Kind
    convention: str
    agent_name: str = ""
    agent_id: str = ""
    agent_description: str = ""
    session_id: str = ""
    input_text: str = ""
    output_text: str = ""
    input_messages: tuple[Message, ...] = ()
    output_messages: tuple[Message, ...] = ()
    tools: tuple[ToolDefinition, ...] = ()
    model: str = ""
    stop_sequences: tuple[str, ...] = ()
    max_tokens: int | None = None
    finish_reasons: tuple[str, ...] = ()
    input_tokens: int | None = None
    output_tokens: int | None = None
    tool_name: str = ""
    tool_call_id: str = ""
    tool_description: str = ""
    tool_arguments: Json = None
    tool_result: str | None = None
    tool_parameters: Mapping[str, Any] | None = None
    exceptions: tuple[ExceptionInfo, ...] = ()
    managed_agents: tuple[str, ...] = ()
    tool_names: tuple[str, ...] = ()
    max_steps: int | None = None
    log_text: tuple[str, ...] = ()

    @property
    def span_id(self) -> str:
        """The raw span's id (unique within its trace only)."""
        return self.raw.span_id

    @property
    def is_error(self) -> bool:
        """Whether the span's own status says ERROR."""
        return self.raw.status_code == STATUS_ERROR

    @property
    def output(self) -> str:
        """The text that an LLM wrote: its output messages', else, where they say nothing at all, the output value.

        A reply that only asks for tools has no text.
        """
        written = "\n".join(m.text for m in self.output_messages if m.text)
        if written or any(m.tool_requests or m.reasoning for m in self.output_messages):
            return written
        return self.output_text
