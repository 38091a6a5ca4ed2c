"""The kinds of tokens of an LLM call that are priced apart: fresh, read from the provider's cache, written to it.

Senders disagree on whether cached tokens are inside of the input's figure, and thought inside of the output's. The
arithmetic tells: a part that is larger than the whole is outside of it, and a stated total is the sum of what it
counts. Else the convention does: OpenTelemetry's has both inside (gen_ai.usage.cache_read.input_tokens "SHOULD be
included in gen_ai.usage.input_tokens"), as OpenAI's API and OpenInference have; Anthropic's and Bedrock's APIs have
cached tokens outside, and so have senders that pass their figures on under names of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Final

from .normalize.values import as_int
from .tokens import LlmCall

_READ: Final = (
    "gen_ai.usage.cache_read.input_tokens",  # OpenTelemetry's convention
    "gen_ai.usage.cache_read_input_tokens",  # OpenLLMetry, Strands
    "gen_ai.usage.cached_input_tokens",
    "gen_ai.usage.details.cache_read_tokens",  # Pydantic AI
    "llm.token_count.prompt_details.cache_read",  # OpenInference
    "llm.token_count.prompt_details.cache_input",
    "ai.usage.cachedInputTokens",  # Vercel AI SDK
    "cache_read_tokens",  # Claude Code
)
_WRITTEN: Final = (
    "gen_ai.usage.cache_write.input_tokens",  # OpenTelemetry's convention, and its name before
    "gen_ai.usage.cache_creation.input_tokens",
    "gen_ai.usage.cache_creation_input_tokens",  # OpenLLMetry
    "gen_ai.usage.cache_write_input_tokens",  # Strands
    "gen_ai.usage.details.cache_write_tokens",  # Pydantic AI
    "llm.token_count.prompt_details.cache_write",  # OpenInference
    "cache_creation_tokens",  # Claude Code
)
_THOUGHT: Final = (
    "gen_ai.usage.reasoning.output_tokens",  # OpenTelemetry's convention
    "gen_ai.usage.reasoning_tokens",  # OpenLLMetry
    "gen_ai.usage.details.reasoning_tokens",  # Pydantic AI
    "llm.token_count.completion_details.reasoning",  # OpenInference
    "ai.usage.reasoningTokens",  # Vercel AI SDK
)
_TOTAL: Final = ("gen_ai.usage.total_tokens", "llm.usage.total_tokens", "llm.token_count.total", "ai.usage.totalTokens")
_OUTSIDE: Final = frozenset(
    {"gen_ai.usage.cache_write_input_tokens", "cache_read_tokens", "cache_creation_tokens"}  # Strands, Claude Code
)
_PARTS: Final = frozenset((*_READ, *_WRITTEN, *_THOUGHT))


@dataclass(frozen=True, slots=True)
class TokenKinds:
    """Numbers of tokens: sent and not cached, read from the cache, written to it, and all that the model wrote."""

    fresh: int
    cache_read: int
    cache_written: int
    output: int


def token_kinds(call: LlmCall) -> TokenKinds:
    """The tokens of a call, each in one kind; what nothing states is 0."""
    sent, wrote = max(call.input_tokens or 0, 0), max(call.output_tokens or 0, 0)
    for record in (call.span, call.around):
        attributes = record.raw.attributes if record is not None else {}
        if not attributes.keys().isdisjoint(_PARTS):
            return _kinds(sent, wrote, attributes)
    return TokenKinds(sent, 0, 0, wrote)


def _kinds(sent: int, wrote: int, attributes: Mapping[str, str]) -> TokenKinds:
    read, written, thought = (_first(attributes, keys) for keys in (_READ, _WRITTEN, _THOUGHT))
    cached = read + written
    outside, beside = cached > sent or not attributes.keys().isdisjoint(_OUTSIDE), thought > wrote
    for more, apart in product((False, True), repeat=2):
        if sent + wrote + more * cached + apart * thought == _first(attributes, _TOTAL):
            outside, beside = more or cached > sent, apart or thought > wrote
            break
    return TokenKinds(sent if outside else sent - cached, read, written, wrote + thought if beside else wrote)


def _first(attributes: Mapping[str, str], keys: tuple[str, ...]) -> int:
    return next((n for key in keys if (n := as_int(attributes.get(key))) is not None and n > 0), 0)
