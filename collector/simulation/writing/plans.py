"""What is written for a task card: drafts, or the words of the six other users."""

from __future__ import annotations

from collections.abc import Callable

from tracejury.judges.packs.cards.task_cards import TaskCard
from tracejury.judges.packs.cards.user_turns import Behaviour
from tracejury.judges.packs.rut.users.parts import default_turns
from tracejury.judges.packs.rut.users.prompts import UserTask
from tracejury.judges.packs.rut.users.writing import Writing, draft, rewrite
from tracejury.schemas.errors import PermanentError

Plan = Callable[[TaskCard], Writing]
"""What is asked for a card; raises PermanentError, in one line, where nothing can be."""


def draft_plan(turns: int | None, max_tokens: int) -> Plan:
    """Turns of an ideal user: `turns`, but at most one a step; None: by the number of steps. Cards with turns stay."""

    def plan(card: TaskCard) -> Writing:
        task = _task(card, max_tokens)
        steps = len(task.oracle.steps)
        if not (steps or card.instruction.strip()):
            raise PermanentError("it has neither an instruction nor steps that a user could ask for")
        return _none() if card.user_turns else draft(task, min(turns or default_turns(steps), max(1, steps)))

    return plan


def rewrite_plan(max_tokens: int) -> Plan:
    """The ideal turns in the words of the users that a card does not have yet."""

    def plan(card: TaskCard) -> Writing:
        task = _task(card, max_tokens)
        ideal = card.user_turns.get(Behaviour.IDEAL)
        if ideal is None:
            raise PermanentError("it has no turns of an ideal user: write them, or use tracejury talk draft")
        wanted = [behaviour for behaviour in Behaviour if behaviour not in card.user_turns]
        return rewrite(task, ideal, wanted) if wanted else _none()

    return plan


def _task(card: TaskCard, max_tokens: int) -> UserTask:
    if card.oracle is None:
        raise PermanentError("it has no oracle, by whose steps turns are written and verified")
    return UserTask(card.instruction, card.oracle, max_tokens)


def _none() -> Writing:
    yield from ()
    return []
