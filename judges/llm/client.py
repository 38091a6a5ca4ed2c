"""A language model as judges need it: a prompt in, a reply out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from tracejury.schemas.errors import LlmError

from .picture import Picture


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """One message, its pictures after its text.

    `cache`: a prefix that later calls repeat ends with its text (providers that must be told are told).
    """

    role: Literal["system", "user", "assistant"]
    text: str
    cache: bool = False
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True, slots=True)
class Prompt:
    """One call. `schema`: the JSON schema of the answer, {} for plain text; `purpose`: one word for logs and spend.

    `service`, `trace_id`, `run_id`, `tenant`: whom the spend is for; they are not part of what is sent. `bypass_cache`:
    ask the model again, since a known answer was of no use. `repeat`: number of the asking, where one question is asked
    several times; each has an answer of its own. `temperature`, `top_p`: of this call; None is the model's setting.
    `request`: a recorded call that is issued again, as fields of OpenAI's chat API: `messages`, `tools`, parameters.
    They go in the place of `messages` and of the model's settings.
    """

    messages: tuple[PromptMessage, ...]
    schema: Mapping[str, Any] = field(default_factory=dict)
    schema_name: str = "answer"
    max_tokens: int = 4096
    purpose: str = "panel"
    service: str = ""
    trace_id: str = ""
    run_id: str = ""
    bypass_cache: bool = False
    repeat: int = 0
    tenant: str = ""
    temperature: float | None = None
    top_p: float | None = None
    request: Mapping[str, Any] = field(default_factory=dict)

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """All that are sent, in order."""
        return tuple(picture for message in self.messages for picture in message.pictures)

    def without_pictures(self) -> Prompt:
        """The same in words alone."""
        return replace(self, messages=tuple(replace(message, pictures=()) for message in self.messages))

    @property
    def characters(self) -> int:
        """Length of all text that is sent."""
        return sum(len(m.text) for m in self.messages) + (len(json.dumps(self.request)) if self.request else 0)


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply. Tokens as the provider counted them; `cached_tokens` of the input came from its prefix cache.

    `cost` in USD, None where the model's price is unknown; `known`: taken from our own answer cache, at no cost.
    `calls`: of a `request`, the tools that it calls, each as {"id", "name", "arguments"}, as the model wrote these.
    """

    text: str
    model: str
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    finish_reason: str = ""
    known: bool = False
    calls: tuple[Mapping[str, str], ...] = ()


class NoAnswerError(LlmError):
    """The model was paid for saying nothing: `reply` tells what it took."""

    def __init__(self, message: str, reply: Reply) -> None:
        super().__init__(message)
        self.reply = reply


class Client(Protocol):
    """A language model. Wrappers (cache, budget, spans) have the same face."""

    @property
    def model(self) -> str:
        """The model's name, part of a judge's version."""

    async def complete(self, prompt: Prompt) -> Reply:
        """The model's reply.

        Raises:
            LlmError: no usable reply, after all retries and fallbacks.
            OverBudgetError: a cap on spend is reached; nothing was sent.
            RetryableError: the answer can be had later (we are stopping, the store is away).
        """
