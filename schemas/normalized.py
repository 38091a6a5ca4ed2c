"""One vocabulary for all conventions: what a span says, whatever instrumentation wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from .spans import STATUS_ERROR, Span


class Kind(StrEnum):
    """The kind of operation that a span records."""

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
    `failed`: the response is marked as that of a failed call.
    """

    role: str
    text: str
    tool_requests: tuple[ToolRequest, ...] = ()
    tool_call_id: str = ""
    name: str = ""
    reasoning: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool that a call was given. `parameters`: its JSON schema (an object schema), or None where not recorded."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ManagedPrompt:
    """The managed prompt or template that an LLM call was made from; "" and () for what was not recorded.

    `variables`: names and values that were put into `template`, in the order in which they were recorded.
    """

    name: str = ""
    version: str = ""
    template: str = ""
    variables: tuple[tuple[str, str], ...] = ()

    @property
    def label(self) -> str:
        """Name and version, such as "greeting@3"; "" for a template that has neither."""
        return f"{self.name}@{self.version}" if self.version else self.name


@dataclass(frozen=True, slots=True)
class ExceptionInfo:
    """An `exception` event of a span."""

    type: str
    message: str


class Captured(StrEnum):
    """Completeness of a span's content. Missing content is never an error of the agent."""

    ALL = "captured"
    PART = "truncated"  # a limit dropped attributes, events or the oldest messages
    NOTHING = "missing"  # content capture is off, or the convention has none


@dataclass(frozen=True, slots=True)
class NormalizedSpan:
    """A span in one vocabulary; `raw` is the stored span it was read from.

    Fields that the instrumentation does not record are empty, never guessed. For a TOOL span `tool_*` hold the
    executed call, its arguments unwrapped ({"args": [], "kwargs": {...}} becomes the kwargs); for an LLM span
    `input_messages`, `output_messages`, `tools`, `stop_sequences` and limits hold the call, and `input_text` is ""
    where messages say what was sent. `agent_parent` (a name) and `task_id` are what the program itself says: which
    agent started this one, and which task, perhaps of several traces, the span belongs to.

    `agent_name` is the name that an AGENT span gives its agent. `agent_hint` is weaker: the agent that a span of
    another kind names as its own; some instrumentations write a constant there, or the agent above. `run_hint`: an id
    that the instrumentation gives one run of the agent and writes on each of its spans. `failure`: what the span says
    of a failure elsewhere than in its status (a status attribute, a result that is an error), "" if nothing.
    `oldest_missing`: the indices of its messages do not start at the first. `continues_input`: its input messages go on
    where the call before ended. `paused`: its status is an error only because a framework stopped it there to go on
    later, or elsewhere.
    """

    raw: Span
    kind: Kind
    convention: str
    agent_name: str = ""
    agent_id: str = ""
    agent_description: str = ""
    agent_parent: str = ""
    task_id: str = ""
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
    agent_hint: str = ""
    run_hint: str = ""
    failure: str = ""
    oldest_missing: bool = False
    continues_input: bool = False
    paused: bool = False
    prompt: ManagedPrompt | None = None

    @property
    def span_id(self) -> str:
        """The raw span's id (unique within its trace only)."""
        return self.raw.span_id

    @property
    def is_error(self) -> bool:
        """Whether the span states that its operation failed; an exception event alone does not, nor does a pause."""
        return (self.raw.status_code == STATUS_ERROR or bool(self.failure)) and not self.paused

    @property
    def error_text(self) -> str:
        """The error text of a failed span, "" for one that did not fail or has none."""
        if not self.is_error:
            return ""
        if self.exceptions:
            last = self.exceptions[-1]
            return f"{last.type}: {last.message}" if last.type else last.message
        return self.raw.status_message or self.failure or self.output_text

    @property
    def content(self) -> Captured:
        """Completeness of the content: an LLM call needs input and output, anything else either."""
        raw = self.raw
        asked = bool(self.input_text) or _say(self.input_messages)
        said = bool(self.output_text) or _say(self.output_messages)
        held = asked or said or self.tool_arguments is not None or self.tool_result is not None
        if self.oldest_missing or raw.dropped_attributes or raw.dropped_events or raw.cut:
            return Captured.PART
        whole = (asked and said) if self.kind is Kind.LLM else held
        return Captured.ALL if whole else Captured.PART if held else Captured.NOTHING

    @property
    def tool_requests(self) -> tuple[ToolRequest, ...]:
        """The tool calls that its output messages ask for, in order."""
        messages = self.output_messages
        if len(messages) == 1:  # nearly always
            return messages[0].tool_requests
        return tuple(r for m in messages for r in m.tool_requests) if messages else ()

    @property
    def output(self) -> str:
        """The text that an LLM wrote: its output messages', else, where they say nothing at all, the output value.

        A reply that only asks for tools has no text; what tools of the provider returned is not its words.
        """
        written = "\n".join(m.text for m in self.output_messages if m.text and m.role != "tool")
        if written or any(m.tool_requests or m.reasoning for m in self.output_messages):
            return written
        return self.output_text


def _say(messages: tuple[Message, ...]) -> bool:
    return any(m.text or m.tool_requests or m.reasoning for m in messages)
