"""The configuration section `prices`: what models cost whose price litellm does not know, or knows wrongly."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from tracejury.collector.judging.model.price import MILLION, Price
from tracejury.schemas.config_base import Section

Usd = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class ModelPrice(Section):
    """US dollars for a million tokens of one model."""

    input_usd_per_million: Usd
    """Tokens sent."""
    output_usd_per_million: Usd
    """Tokens written."""
    cached_usd_per_million: Usd | None = None
    """Tokens sent that came from the provider's cache; null: as the others."""

    def price(self) -> Price:
        """The same a token."""
        cached = self.input_usd_per_million if self.cached_usd_per_million is None else self.cached_usd_per_million
        return Price(self.input_usd_per_million / MILLION, cached / MILLION, self.output_usd_per_million / MILLION)
