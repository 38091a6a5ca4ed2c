"""Sessions to play: a task, its user, and a trial."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from uuid import uuid4

from tracejury.judges.llm.client import Client
from tracejury.judges.packs.cards.task_cards import TaskCard
from tracejury.judges.packs.cards.user_turns import MOST_TURNS
from tracejury.judges.writing.persona_messages import UserBrief
from tracejury.processors.normalize.stated import TASK_ID
from tracejury.schemas.behaviours import Behaviour, Persona
from tracejury.schemas.simulation import BEHAVIOUR, PERSONA, SIMULATED, TRIAL, USER_MODEL

from .users import PersonaUser, ScriptedUser, SimulatedUser


@dataclass(frozen=True, slots=True)
class SimulatedSession:
    """One trial of a task by one user; `trial` counts from 1.

    The user says its `turns`, in order, as its `behaviour` is; or it has a persona, by its `brief`: then `user_model`
    writes at most `most_turns` messages.
    """

    task: str
    behaviour: Behaviour | None
    trial: int
    turns: tuple[str, ...]
    session_id: str
    brief: UserBrief | None = None
    user_model: str = ""
    most_turns: int = MOST_TURNS

    @property
    def user(self) -> str:
        """The kind of user: its behaviour or persona."""
        return str(self.brief.persona if self.brief else self.behaviour)

    @property
    def attributes(self) -> dict[str, str | int | bool]:
        """Those of each exchange's root span, and of the baggage of its requests."""
        user = {PERSONA: self.user, USER_MODEL: self.user_model} if self.brief else {BEHAVIOUR: self.user}
        return {"session.id": self.session_id, TASK_ID: self.task, TRIAL: self.trial, **user, SIMULATED: True}

    def begin(self, client: Client, max_tokens: int) -> SimulatedUser:
        """The user at the beginning of the session; `client`: the model of one with a persona."""
        if self.brief is None:
            return ScriptedUser(self.turns)
        return PersonaUser(self.brief, client, self.most_turns, self.trial, max_tokens)


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


def persona_sessions(
    cards: Iterable[TaskCard], personas: Collection[Persona], trials: int, user_model: str
) -> list[SimulatedSession]:
    """The sessions of all cards with users of these personas, in the order of `sessions_of`."""
    cards = list(cards)
    return [
        SimulatedSession(
            card.id,
            None,
            trial,
            (),
            uuid4().hex,
            UserBrief(persona, card.instruction, card.stop, card.agent),
            user_model,
            card.max_turns or MOST_TURNS,
        )
        for trial in range(1, trials + 1)
        for card in cards
        for persona in personas
    ]
