"""A case: the input of the LLM call that went wrong, its answer, what was wrong with it, and what must not appear.

A JSON file each, with messages and tools as of OpenAI's chat API. Files may come from anywhere: what they say is only
ever sent to the model as its messages and tools, and of a call's parameters those that change nothing but the answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from tracejury.collector.otlp.files.chat import ChatMessage, exchanges_of
from tracejury.judges.llm.data_files import model_of, read_data
from tracejury.schemas.errors import ConfigError

MOST_BYTES: Final = 64 * 1024 * 1024
"""A larger file holds no case."""

PARAMETERS: Final = (
    "temperature", "top_p", "presence_penalty", "frequency_penalty", "max_tokens", "stop", "tool_choice",
    "parallel_tool_calls", "response_format", "reasoning_effort",
)  # fmt: skip
"""Of a call, those that are sent again. Not the seed: with it all answers would be the same."""

Parameter = Annotated[str, StringConstraints(pattern=f"^({'|'.join(PARAMETERS)})$")]
MODEL_NAME: Final = r"^[\w.@:+-]*(/[\w.@:+-]+)*$"
"""A model's name, and no address, which some providers take in its place."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class Tool(_Part):
    """A tool that the call was given. `parameters`: its JSON schema."""

    name: Annotated[str, StringConstraints(min_length=1)]
    description: str = ""
    parameters: dict[str, Any]

    @property
    def definition(self) -> dict[str, Any]:
        """As of OpenAI's chat API."""
        return {"type": "function", "function": self.model_dump()}


class RecordedError(BaseModel):
    """The error that the case is of, as it was found; `instead`: what the agent should have done."""

    title: str
    taxonomy: str
    category: str
    severity: str
    evidence: str
    explanation: str
    instead: str | None = None


class MustNotAppear(_Part):
    """A finding of this judge with this class of cause, at the step. `by`: a detector, or an LLM judge.

    `needs_results`: the detector sees the error only in what the called tools returned.
    """

    judge: str
    cause: str
    by: Literal["detector", "llm"]
    needs_results: bool = False


class Case(_Part):
    """One step. `answer`: what the model said there, `results`: what its calls returned, as messages of tools."""

    format: Literal[1] = 1
    id: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{8,64}$")]
    pattern: str = ""
    service: str
    agent: str = ""
    trace_id: str
    span_id: str
    error: RecordedError
    must_not_appear: MustNotAppear
    model: Annotated[str, StringConstraints(pattern=MODEL_NAME)] = ""
    parameters: dict[Parameter, Any] = Field(default={})
    messages: Annotated[tuple[ChatMessage, ...], Field(min_length=1)]
    tools: tuple[Tool, ...] = ()
    answer: ChatMessage
    results: tuple[ChatMessage, ...] = ()

    @model_validator(mode="after")
    def _whole(self) -> Case:
        """Raises ValueError: calls without results or without a tool, or nothing that a trace can be made of."""
        exchanges, _ = exchanges_of(self.messages)
        asked = [call for exchange in exchanges for reply in exchange.replies for call in reply.calls]
        for call in asked:
            if call.result is None:
                raise ValueError(f"messages hold no result of the call of {call.name[:60]!r}")
        if not exchanges and not any(message.role == "user" for message in self.messages):
            raise ValueError("messages hold none of a user")
        if not self.tools and (asked or self.answer.tool_calls):
            raise ValueError("tools are missing: without their schemas the model would not be asked the same")
        if not str(self.parameters.get("max_tokens", 0)).isdecimal():
            raise ValueError("parameters.max_tokens must be a whole number")
        exchanges_of([*self.messages, self.answer, *self.results])
        return self

    def request(self, messages: Iterable[ChatMessage]) -> dict[str, Any]:
        """The call with these messages, as fields of OpenAI's chat API."""
        sent: dict[str, Any] = {"messages": [_sent(message) for message in messages], **self.parameters}
        return sent | ({"tools": [tool.definition for tool in self.tools]} if self.tools else {})

    def to_json(self) -> str:
        """The file's text; ASCII, so that it holds any text and harms no terminal."""
        return json.dumps(self.model_dump(mode="json", exclude_defaults=True), indent=2) + "\n"


def _sent(one: ChatMessage) -> dict[str, Any]:
    """A message as a model is sent it."""
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.function.name, "arguments": call.text}}
        for call in one.tool_calls or ()
    ]
    said: dict[str, Any] = {"role": one.role, "content": one.text or (None if calls else "")}
    if calls:
        said["tool_calls"] = calls
    if one.tool_call_id:
        said["tool_call_id"] = one.tool_call_id
    return said


@dataclass(frozen=True, slots=True)
class PromptChange:
    """How the step is asked now. `system`: in the place of the system prompt, None: as it was; `append`: after it.

    `instead`: after it comes also what the error says that the agent should have done.
    """

    system: str | None = None
    append: str = ""
    instead: bool = False

    @property
    def on(self) -> bool:
        """Whether it changes anything."""
        return self != AS_RECORDED

    def messages(self, case: Case) -> tuple[ChatMessage, ...]:
        """The messages of a case, changed.

        Raises:
            ConfigError: the error of the case does not say what should have been done.
        """
        if self.instead and not case.error.instead:
            raise ConfigError(
                f"--instead: the error of case {case.id} does not say what the agent should have done: use --append"
            )
        if not self.on:
            return case.messages
        first = [one for one in case.messages if one.role in _SYSTEM]
        others = [one for one in case.messages if one.role not in _SYSTEM]
        told = [one.text for one in first] if self.system is None else [self.system]
        told += [text for text in (self.append, case.error.instead if self.instead else None) if text]
        role = first[0].role if first else "system"
        return (ChatMessage(role=role, content="\n\n".join(told)), *others)


AS_RECORDED: Final = PromptChange()
_SYSTEM: Final = ("system", "developer")


def load_cases(folder: Path) -> list[Case]:
    """The cases of a folder, by the names of their files.

    Raises:
        ConfigError: it has none, or one cannot be read; one line with the file and the key.
    """
    found: dict[str, Case] = {}
    for file in sorted(folder.glob("*.json")):
        if not file.is_file():
            raise ConfigError(f"{file} is no file")
        case = model_of(read_data(file, most_bytes=MOST_BYTES, holds="a case"), Case, str(file))
        if case.id in found:
            raise ConfigError(f"{file}: the case {case.id} stands in another file, too")
        found[case.id] = case
    if not found:
        raise ConfigError(f"{folder} holds no case: tracejury regressions add ERROR --to {folder}")
    return [*found.values()]
