"""The key `user_turns` of a task card: what the user says, by behaviour."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

from tracejury.schemas.behaviours import Behaviour

__all__ = ["MOST_TURNS", "Behaviour", "Turns", "UserTurns"]

MOST_TURNS: Final = 20

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
