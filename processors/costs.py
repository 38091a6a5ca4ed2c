"""Cost of an LLM call, as its spans state it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from .normalize.values import parse_object
from .tokens import LlmCall

_TOTALS: Final = (
    "gen_ai.usage.cost.amount",  # proposed for OpenTelemetry's convention
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
_CURRENCY: Final = "gen_ai.usage.cost.currency"
_DETAILS: Final = "langfuse.observation.cost_details"
_DETAILS_TOTAL: Final = ("total", "total_cost")

_STATED: Final = frozenset((*_TOTALS, *(key for pair in _PARTS for key in pair), _DETAILS))


def stated_usd(call: LlmCall) -> float | None:
    """US dollars that the call's record states, else the record around it; None where neither does."""
    own = _usd(call.span.raw.attributes)
    return _usd(call.around.raw.attributes) if own is None and call.around and call.alone else own


def _usd(attributes: Mapping[str, str]) -> float | None:
    if attributes.keys().isdisjoint(_STATED):  # as in most spans
        return None
    foreign = attributes.get(_CURRENCY, "USD").upper() != "USD"
    for key in _TOTALS:
        if foreign and key.startswith("gen_ai.usage.cost"):
            continue
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


def _money(text: str | None) -> float | None:
    """A finite amount that is not negative; None of anything else."""
    try:
        amount = float(text) if text else math.nan
    except ValueError:
        return None
    return amount if math.isfinite(amount) and amount >= 0 else None
