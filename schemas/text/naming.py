"""Display names and places of agents, and the length that lists show: names are the clients' own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

MOST: Final = 256
"""Characters of a name that lists show; of a longer one these many, and `CUT`."""
CUT: Final = "…"


def agent_name(name: str) -> str:
    """The name that spans give, or that there is none."""
    return name or "unnamed agent"


def agent_names(names: Iterable[str]) -> str:
    """The agents of several runs, each once and with the number of its runs: "manager, researcher (2)"."""
    runs = Counter(map(agent_name, names))
    return ", ".join(name if count == 1 else f"{name} ({count})" for name, count in runs.items())


def error_place(run_id: str | None, agent: str | None, turn: int | None) -> str:
    """The agent and turn of an error, by the run of its primary span ("" or None for none)."""
    if not run_id:
        return "outside of agent runs"
    return agent_name(agent or "") + ("" if turn is None else f", turn {turn}")


def is_whole(name: str) -> bool:
    """Whether a list shows all of a name: only then it can be asked for by it."""
    return len(name) <= MOST


def shortened(name: str) -> str:
    """The part of a name that a list shows."""
    return name if is_whole(name) else name[:MOST] + CUT
