"""What a model writes onto a task card: the turns of an ideal user, and those of the six others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from tracejury.judges.packs.cards.user_turns import Behaviour
from tracejury.judges.writing.units import WrittenText, WrittenUnit
from tracejury.schemas.errors import PermanentError

from .users.parts import default_turns
from .users.prompts import UserTask
from .users.writing import draft, rewrite

if TYPE_CHECKING:
    from collections.abc import Callable

    from tracejury.judges.packs.cards.task_cards import TaskCard
    from tracejury.judges.writing.units import Writing


def draft_users(card: TaskCard, *, max_tokens: int, turns: int | None = None) -> Writing[TaskCard]:
    """Turns of an ideal user: `turns`, but at most one a step; None: by the number of steps. Cards with turns stay."""
    task = _task(card, max_tokens)
    steps = len(task.oracle.steps)
    if not (steps or card.instruction.strip()):
        raise PermanentError("it has neither an instruction nor steps that a user could ask for")
    if card.user_turns:
        return WrittenUnit(card)
    task = task.dealt(min(turns or default_turns(steps), max(1, steps)))
    written = _onto(card, (yield from draft(task)))
    if not (written.unit.user_turns and steps):
        return written
    return replace(written, unit=written.unit.model_copy(update={"carries": task.carries}))


def rewrite_users(card: TaskCard, *, max_tokens: int) -> Writing[TaskCard]:
    """The ideal turns in the words of the users that a card does not have yet."""
    task = _task(card, max_tokens)
    ideal = card.user_turns.get(Behaviour.IDEAL)
    if ideal is None:
        raise PermanentError("it has no turns of an ideal user: write them, or use tracejury talk draft")
    wanted = [behaviour for behaviour in Behaviour if behaviour not in card.user_turns]
    return _onto(card, (yield from rewrite(task, ideal, wanted))) if wanted else WrittenUnit(card)


WRITERS: Final[Mapping[str, Callable[..., Writing[Any]]]] = {"draft": draft_users, "rewrite": rewrite_users}
"""By the command of `tracejury talk`."""


def _task(card: TaskCard, max_tokens: int) -> UserTask:
    if card.oracle is None:
        raise PermanentError("it has no oracle, by whose steps turns are written and verified")
    return UserTask(card.instruction, card.oracle, max_tokens, card.carries)


def _onto(card: TaskCard, written: Sequence[WrittenText]) -> WrittenUnit[TaskCard]:
    turns = {**card.user_turns, **{Behaviour(one.name): one.texts for one in written if one.texts}}
    return WrittenUnit(card.model_copy(update={"user_turns": turns}), tuple(written))
