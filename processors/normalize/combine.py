"""Combining the readings of several conventions on one span."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tracejury.schemas.normalized import Kind

from .convention import Fields

_VAGUE: Final = {Kind.OTHER: 0, Kind.CHAIN: 1, Kind.AGENT: 3}
_SPECIFIC: Final = 2
_MESSAGES: Final = ("input_messages", "output_messages", "tools")


def combine(readings: Sequence[Fields]) -> Fields:
    """One reading out of several, in order of preference.

    The first that says most precisely what the span stands for leads (an agent before a call: a client may have written
    its call's attributes on the span that it found open); each field that it leaves empty is filled from
    the others in order. Of messages and tool definitions the longer list counts (a limit on attributes may have cut
    one of two copies), of arguments an object before a text.
    """
    if len(readings) == 1:
        return readings[0]
    lead = max(readings, key=lambda found: _VAGUE.get(found["kind"], _SPECIFIC))
    combined = dict(lead)
    for other in readings:
        if other is not lead:
            fill(combined, other)
    if combined["kind"] is Kind.AGENT:
        combined["agent_name"] = combined.get("agent_name") or combined.get("agent_hint", "")
        combined["agent_hint"] = ""
    return combined


def fill(combined: Fields, other: Mapping[str, Any]) -> None:
    """Fill what a reading leaves empty from another one."""
    for key, value in other.items():
        mine = combined.get(key)
        if mine in (None, "", ()):
            combined[key] = value
        elif key in _MESSAGES:
            combined[key] = value if len(value) > len(mine) else mine
        elif key == "tool_arguments" and isinstance(value, Mapping) and not isinstance(mine, Mapping):
            combined[key] = value
