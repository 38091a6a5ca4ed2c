"""The managed prompt that an LLM call was made with, as its span names it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_KEYS: Final = (
    ("gen_ai.prompt.name", "gen_ai.prompt.version"),  # OpenTelemetry's convention names it, senders add a version
    ("langfuse.observation.prompt.name", "langfuse.observation.prompt.version"),
    ("traceloop.prompt.key", "traceloop.prompt.version"),  # OpenLLMetry
)
_NAMES: Final = frozenset(name for name, _ in _KEYS)


def prompt_of(attributes: Mapping[str, str]) -> str:
    """Its name, with its version where there is one ("greeting:3"); "" without a name."""
    if attributes.keys().isdisjoint(_NAMES):  # as in most spans
        return ""
    for name, version in _KEYS:
        if named := attributes.get(name):
            stated = attributes.get(version)
            return f"{named}:{stated}" if stated else named
    return ""
