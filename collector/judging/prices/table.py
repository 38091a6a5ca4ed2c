"""The price of a model by the name that a span gives it.

litellm ships its prices as a JSON file. It is read as a file: importing the package takes seconds, this takes
milliseconds.
"""

from __future__ import annotations

import importlib.util
import logging
import re
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import orjson

from tracejury.collector.judging.model.price import Price, price_of

log = logging.getLogger(__name__)

_FILE: Final = "model_prices_and_context_window_backup.json"
_REMEMBERED: Final = 4096
_LONGEST: Final = 200  # characters of a name that anything is looked up for

_DATED: Final = re.compile(r"[-@:](?:20\d\d-?\d\d-?\d\d|latest|preview|free|\d{4})$|-v\d+(?::\d+)?$")
"""Suffixes of a model's name that denote one version of it: a date, `latest`, `-0613`, Bedrock's `-v1:0`."""

_PROVIDERS: Final = {
    "aws.bedrock": "bedrock",
    "az.ai.openai": "azure",
    "azure.ai.openai": "azure",
    "azure.ai.inference": "azure_ai",
    "gcp.gemini": "gemini",
    "gcp.gen_ai": "gemini",
    "gcp.vertex_ai": "vertex_ai",
    "mistral_ai": "mistral",
    "x_ai": "xai",
}
"""OpenTelemetry's names of providers that litellm calls otherwise."""


class PriceTable:
    """Prices of models, the configured ones first; litellm's are read when first needed. For any thread."""

    def __init__(self, configured: Mapping[str, Price] | None = None) -> None:
        self._configured = {name.lower(): price for name, price in (configured or {}).items()}
        self._lock = threading.Lock()
        self._shipped: Mapping[str, Any] | None = None
        self._known: dict[tuple[str, str], Price | None] = {}

    def price(self, model: str, provider: str = "") -> Price | None:
        """The price of a model under the name that a span gives; None where it is not known."""
        if not model or len(model) > _LONGEST:
            return None
        with self._lock:
            key = (provider, model)
            if key not in self._known:
                if len(self._known) >= _REMEMBERED:
                    self._known.clear()
                self._known[key] = self._look_up(model.lower(), provider.lower()[:_LONGEST])
            return self._known[key]

    def _look_up(self, model: str, provider: str) -> Price | None:
        named = list(names(model))
        for name in named:
            if name in self._configured:
                return self._configured[name]
        shipped = self._table()
        provider = _PROVIDERS.get(provider, provider)
        for name in ([f"{provider}/{n}" for n in named] if provider else []) + named:
            if name in shipped and (price := price_of(shipped[name])) is not None:
                return price
        return None

    def _table(self) -> Mapping[str, Any]:
        if self._shipped is None:
            self._shipped = shipped_prices()
        return self._shipped


def names(model: str) -> Iterator[str]:
    """Names that may stand for the same price, the most exact first: without provider, without version."""
    whole = [model]
    while "/" in whole[-1]:
        whole.append(whole[-1].partition("/")[2])
    yield from whole
    for name in whole:
        while (shorter := _DATED.sub("", name)) != name:
            name = shorter  # noqa: PLW2901  one suffix after the other
            yield name


def shipped_prices() -> dict[str, dict[str, float]]:
    """Prices that litellm ships, by model in lower case; none where it is not installed or its file is another."""
    found = importlib.util.find_spec("litellm")
    if found is None or not found.submodule_search_locations:
        return {}
    try:
        models = orjson.loads((Path(found.submodule_search_locations[0]) / _FILE).read_bytes())
        return {name.lower(): prices for name, facts in models.items() if (prices := _prices(facts))}
    except (OSError, ValueError, AttributeError) as error:
        log.warning("litellm's prices cannot be read: %s", error)
        return {}


_OF_CACHE: Final = ("cache_read_input_token_cost", "cache_creation_input_token_cost")


def _prices(facts: Mapping[str, Any]) -> dict[str, float]:
    """The amounts that a price is made of; {} where what is sent and written has none, as in the file's own example."""
    keys = ("input_cost_per_token", "output_cost_per_token", *_OF_CACHE)
    kept = {key: facts[key] for key in keys if isinstance(facts.get(key), int | float)}
    return kept if {*keys[:2]} <= kept.keys() and isinstance(facts.get("max_tokens"), int | None) else {}
