"""When tools last worked: a failed call was mended where the same agent made it again, later, and it worked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .facts import RunFacts, TurnFacts
from .names import Role

Worked = Mapping[tuple[str, str], int]
"""(Agent's name, tool's name), and (run id, "") for any tool, to the start of the last turn in which it worked."""


def last_worked(runs: Iterable[RunFacts]) -> Worked:
    """When each tool last worked in a trace."""
    found: dict[tuple[str, str], int] = {}
    for facts in runs:
        for key, at in facts.once(_worked):
            found[key] = max(found.get(key, -1), at)
    return found


def start_of(turn: TurnFacts) -> int:
    """When the first span of a turn began (unix nanos)."""
    return min((span.raw.start for span in turn.turn.spans), default=0)


def _worked(facts: RunFacts) -> Iterable[tuple[tuple[str, str], int]]:
    found: dict[tuple[str, str], int] = {}
    for turn in facts.turns:
        worked = [
            c.call.name for c in turn.calls if not c.failure and not c.refusal and c.ran and c.role is Role.ACCESS
        ]
        at = start_of(turn) if worked else -1
        for key in ((facts.run.id, ""), *((facts.run.name, tool) for tool in worked)) if worked else ():
            found[key] = max(found.get(key, -1), at)
    return found.items()
