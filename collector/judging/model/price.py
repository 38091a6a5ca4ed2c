"""The cost of a model's tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tracejury.judges.llm.client import Prompt
from tracejury.judges.llm.picture import tokens_of

from .config import LlmConfig

MILLION: Final = 1_000_000
CHARACTERS_PER_TOKEN: Final = 3.5
"""Of English and code, on the safe side: tokenizers make 3.5 to 4.5 of them a token."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars a token: read, read from the provider's prefix cache, written; and kept there (None: as if read)."""

    read: float
    cached: float
    written: float
    kept: float | None = None

    def of(self, read: int, written: int, cached: int = 0, kept: int = 0) -> float:
        """US dollars of a call; of the tokens read, `cached` came from the cache and `kept` went there."""
        cached = min(cached, read)
        kept = min(kept, read - cached)
        keeping = self.read if self.kept is None else self.kept
        return (read - cached - kept) * self.read + cached * self.cached + kept * keeping + written * self.written


def price_of(info: Mapping[str, Any]) -> Price | None:
    """The price in litellm's facts about a model; None where they hold none."""
    read, written = info.get("input_cost_per_token"), info.get("output_cost_per_token")
    if read is None or written is None:
        return None
    cached, kept = info.get("cache_read_input_token_cost"), info.get("cache_creation_input_token_cost")
    dearer = None if kept is None else float(kept)
    return Price(float(read), float(read if cached is None else cached), float(written), dearer)


def set_price(config: LlmConfig) -> Price | None:
    """The price that the configuration states; None where it states none."""
    read, written = config.input_usd_per_million, config.output_usd_per_million
    if read is None and written is None:
        return None
    return Price((read or 0.0) / MILLION, (read or 0.0) / MILLION, (written or 0.0) / MILLION)


def tokens_in(prompt: Prompt) -> int:
    """About how many tokens a prompt has, with its pictures."""
    return round(prompt.characters / CHARACTERS_PER_TOKEN) + len(prompt.messages) + tokens_of(prompt.pictures)
