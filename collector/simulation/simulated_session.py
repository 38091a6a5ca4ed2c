"""Sessions to play: a task, a way in which its user behaves, and a trial."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from uuid import uuid4

from tracejury.judges.packs.cards.task_cards import TaskCard
from tracejury.processors.normalize.stated import TASK_ID
from tracejury.schemas.behaviours import Behaviour
from tracejury.schemas.simulation import BEHAVIOUR, SIMULATED


@dataclass(frozen=True, slots=True)
class SimulatedSession:
    """One trial of a task by a user who behaves so. `turns`: what the user says, in order; `trial` counts from 1."""

    task: str
    behaviour: Behaviour
    trial: int
    turns: tuple[str, ...]
    session_id: str

    @property
    def attributes(self) -> dict[str, str | int | bool]:
        """Those of each exchange's root span, and of the baggage of its requests."""
        return {
            "session.id": self.session_id,
            TASK_ID: self.task,
            "tracejury.trial": self.trial,
            BEHAVIOUR: str(self.behaviour),
            SIMULATED: True,
        }


def sessions_of(cards: Iterable[TaskCard], behaviours: Collection[Behaviour], trials: int) -> list[SimulatedSession]:
    """The sessions of all cards that have turns of these behaviours, trial by trial, under new session ids."""
    cards = list(cards)
    return [
        SimulatedSession(card.id, behaviour, trial, card.user_turns[behaviour], uuid4().hex)
        for trial in range(1, trials + 1)
        for card in cards
        for behaviour in Behaviour
        if behaviour in behaviours and behaviour in card.user_turns
    ]
