"""The key `user_turns` of a task card: what the user says, by behaviour."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

MOST_TURNS: Final = 20


class Behaviour(StrEnum):
    """How a user behaves; the values are the labels of `rut-behaviour`, and `ideal`."""

    IDEAL = "ideal"
    UNDERSPECIFICATION = "underspecification"
    INFORMATION_OVERLOAD = "information-overload"
    FABRICATED_PARAMETERS = "fabricated-parameters"
    GOAL_SWITCHING = "goal-switching"
    CONTRADICTORY_CONSTRAINTS = "contradictory-constraints"
    IMPATIENCE_AND_HOSTILITY = "impatience-and-hostility"

    @classmethod
    def _missing_(cls, value: object) -> Behaviour | None:
        """Names are read as the paper writes them, too: with underscores."""
        wanted = value.strip().lower().replace("_", "-") if isinstance(value, str) else None
        return next((one for one in cls if one.value == wanted), None)


Turns = Annotated[
    tuple[Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=20_000)], ...],
    Field(min_length=1, max_length=MOST_TURNS),
]
"""Messages of one user, in order."""


def _by_behaviour(value: Any) -> Any:
    """A list is what an ideal user says."""
    return {Behaviour.IDEAL: value} if isinstance(value, list | tuple) else value


def _of_one_length(turns: Mapping[Behaviour, Turns]) -> Mapping[Behaviour, Turns]:
    lengths = {behaviour: len(said) for behaviour, said in turns.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{behaviour} {length}" for behaviour, length in lengths.items())
        raise ValueError(f"each behaviour needs as many turns as the others ({told}): only the words change")
    return turns


UserTurns = Annotated[Mapping[Behaviour, Turns], BeforeValidator(_by_behaviour), AfterValidator(_of_one_length)]
"""What the user says, by behaviour; a list is what an ideal user says. All have the same number of turns."""
