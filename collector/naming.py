"""How agents are called in what people read."""

from __future__ import annotations


def agent_name(name: str) -> str:
    """The name that spans give, or that there is none."""
    return name or "unnamed agent"
