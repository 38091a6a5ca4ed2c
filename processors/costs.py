"""Cost and cached tokens of an LLM call, as its spans state them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

from tracejury.schemas.normalized import NormalizedSpan

from .normalize.values import as_int, parse_object
from .tokens import LlmCall

T = TypeVar("T")

_TOTALS: Final = (
    "gen_ai.usage.cost",  # OpenLIT, Langfuse
    "llm.cost.total",  # OpenInference
    "operation.cost",  # Logfire, Pydantic AI
    "gen_ai.cost.total_cost",  # litellm
    "gen_ai.usage.total_cost",
    "gen_ai.usage.cost_usd",
    "llm.usage.cost",
    "langfuse.observation.total_cost",
)
_PARTS: Final = (
    ("llm.cost.prompt", "llm.cost.completion"),  # OpenInference
    ("gen_ai.usage.input_cost", "gen_ai.usage.output_cost"),  # any-agent
)
_DETAILS: Final = "langfuse.observation.cost_details"
_DETAILS_TOTAL: Final = ("total", "total_cost")

_CACHED: Final = (
    "gen_ai.usage.cache_read.input_tokens",  # OpenTelemetry's convention
    "gen_ai.usage.cache_read_input_tokens",  # OpenLLMetry
    "gen_ai.usage.cached_input_tokens",
    "gen_ai.usage.details.cache_read_tokens",  # Pydantic AI
    "llm.token_count.prompt_details.cache_read",  # OpenInference
    "llm.token_count.prompt_details.cache_input",
    "ai.usage.cachedInputTokens",  # Vercel AI SDK
)

_STATED: Final = frozenset((*_TOTALS, *(key for pair in _PARTS for key in pair), _DETAILS))


def stated_usd(call: LlmCall) -> float | None:
    """US dollars that the call's record states, else the record around it; None where neither does."""
    return _first(call, _usd)


def cached_tokens(call: LlmCall) -> int:
    """Number of input tokens read from the provider's cache, as far as a record states it."""
    return _first(call, _cached) or 0


def _first(call: LlmCall, read: Callable[[Mapping[str, str]], T | None]) -> T | None:
    records: Sequence[NormalizedSpan] = (call.span, call.around) if call.around else (call.span,)
    return next((found for r in records if (found := read(r.raw.attributes)) is not None), None)


def _usd(attributes: Mapping[str, str]) -> float | None:
    if attributes.keys().isdisjoint(_STATED):  # as in most spans
        return None
    for key in _TOTALS:
        if (amount := _money(attributes.get(key))) is not None:
            return amount
    for pair in _PARTS:
        parts = [amount for key in pair if (amount := _money(attributes.get(key))) is not None]
        if parts:
            return sum(parts)
    return _details(attributes.get(_DETAILS, ""))


def _details(text: str) -> float | None:
    """Langfuse's amounts by kind of use, which may hold their own total."""
    amounts = {k: a for k, v in (parse_object(text) or {}).items() if (a := _money(str(v))) is not None}
    stated = next((amounts[key] for key in _DETAILS_TOTAL if key in amounts), None)
    return sum(amounts.values()) if stated is None and amounts else stated


def _cached(attributes: Mapping[str, str]) -> int | None:
    return next((n for key in _CACHED if (n := as_int(attributes.get(key))) is not None), None)


def _money(text: str | None) -> float | None:
    """A finite amount that is not negative; None of anything else."""
    try:
        amount = float(text) if text else math.nan
    except ValueError:
        return None
    return amount if math.isfinite(amount) and amount >= 0 else None
