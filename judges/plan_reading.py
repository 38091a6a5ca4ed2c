"""Plans of an agent run, and surveys of facts, as later turns follow them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from tracejury.schemas.trajectory import TurnKind

from .names import hints, named
from .wording import LOOK_UP, holds_any

if TYPE_CHECKING:
    from .facts import TurnFacts


def may_plan(turn: TurnFacts) -> tuple[()] | tuple[None]:
    """Whether a turn may plan or survey facts (for `RunFacts.in_turns`)."""
    kind = turn.turn.kind
    surveys = kind in (TurnKind.PLAN, TurnKind.FACTS)
    return (None,) if surveys or (kind is TurnKind.ACT and opens_with_plan(turn.low)) else ()


def plans_before(
    planning: Iterable[TurnFacts], count: int, tools: tuple[str, ...]
) -> tuple[tuple[int, ...], tuple[bool, ...]]:
    """(`plan_at`, `wants_data`) of a run of so many turns, of which these may plan (see `may_plan`)."""
    plan_at, wants_data = list[int](), list[bool]()
    latest, wanted = -1, False
    for turn in planning:
        before = turn.position - len(plan_at)
        plan_at += [latest] * (before + 1)
        wants_data += [wanted] * before
        if latest < 0 and not wanted and turn.turn.kind is not TurnKind.PLAN:
            wanted = hints(turn.low, tools)
        wants_data.append(wanted)
        if turn.turn.kind is TurnKind.PLAN:
            latest = turn.position
            wanted = holds_any(turn.low, LOOK_UP) or bool(named(turn.low, tools))
    rest = count - len(plan_at)
    return (*plan_at, *[latest] * rest), (*wants_data, *[wanted] * rest)


def opens_with_plan(low: str) -> bool:
    """Whether a lower-cased text begins as a plan."""
    opening = low[:_OPENING]
    if "plan" not in opening:
        return False
    return "plan:" in opening or any(line.lstrip("#* ").startswith("plan") for line in opening.splitlines())


_OPENING: Final = 400
