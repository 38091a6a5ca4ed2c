"""How users behave towards agents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum


class Behaviour(StrEnum):
    """How a user behaves; the values are labels of exchanges, and `ideal`."""

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


class Persona(StrEnum):
    """How well a simulated user knows the system it talks to."""

    EXPERT = "expert"
    NON_EXPERT = "non-expert"


def behaviours_of_session(exchanges: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """The behaviours of a session by the labels of its exchanges: ideal where none has any; () without exchanges."""
    labels = list(exchanges)
    return tuple(sorted({label for said in labels for label in said})) or (Behaviour.IDEAL.value,) * bool(labels)
