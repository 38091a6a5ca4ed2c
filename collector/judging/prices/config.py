"""The configuration section `prices`: what models cost whose price litellm does not know, or knows wrongly."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from tracejury.collector.judging.model.price import MILLION, Price
from tracejury.schemas.config_base import Section

Usd = Annotated[float, Field(ge=0)]


class ModelPrice(Section):
    """US dollars for a million tokens of one model."""

    input_usd_per_million: Usd
    """Tokens sent."""
    output_usd_per_million: Usd
    """Tokens written."""
    cached_usd_per_million: Usd | None = None
    """Tokens sent that came from the provider's cache; null: as the others."""
    cache_write_usd_per_million: Usd | None = None
    """Tokens sent that the provider's cache kept; null: as the others."""

    def price(self) -> Price:
        """The same a token."""
        read, cached, kept = self.input_usd_per_million, self.cached_usd_per_million, self.cache_write_usd_per_million
        of = (read, read if cached is None else cached, self.output_usd_per_million, read if kept is None else kept)
        return Price(*(usd / MILLION for usd in of))
