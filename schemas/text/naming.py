"""How agents are called in what people read, and how much of a name lists show: names are the clients' own."""

from __future__ import annotations

from typing import Final

MOST: Final = 256
"""Characters of a name that lists show; of a longer one these many, and `CUT`."""
CUT: Final = "…"


def agent_name(name: str) -> str:
    """The name that spans give, or that there is none."""
    return name or "unnamed agent"


def is_whole(name: str) -> bool:
    """Whether a list shows all of a name: only then it can be asked for by it."""
    return len(name) <= MOST


def shortened(name: str) -> str:
    """What a list shows of a name."""
    return name if is_whole(name) else name[:MOST] + CUT
