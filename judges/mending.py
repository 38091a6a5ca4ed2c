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
    found: dict[str, int] = {}
    for _, (at, tools) in facts.in_turns(_worked_in):
        for tool in tools:
            if at > found.get(tool, -1):
                found[tool] = at
    by_tool = [((facts.run.name, tool), at) for tool, at in found.items()]
    return [*by_tool, ((facts.run.id, ""), max(found.values()))] if found else ()


def _worked_in(turn: TurnFacts) -> Iterable[tuple[int, list[str]]]:
    tools = [c.call.name for c in turn.calls if not c.failure and not c.refusal and c.ran and c.role is Role.ACCESS]
    return ((start_of(turn), tools),) if tools else ()
