"""The command line's questions about error rates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from ....schemas.wire.rates import RatesComparisonJson, RatesJson
from .client import Client


def ask_rates(client: Client, filters: Mapping[str, str]) -> RatesJson:
    """Rates; `filters` are the parameters of /api/rates. Raises ConfigError for what means nothing."""
    return cast("RatesJson", client.ask("GET", "/api/rates", filters))


def compare_rates(client: Client, filters: Mapping[str, str], to: str) -> RatesComparisonJson:
    """Rates compared to others; `to` as /api/rates/compare takes it. Raises as `ask_rates`."""
    return cast("RatesComparisonJson", client.ask("GET", "/api/rates/compare", {**filters, "to": to}))
