"""The key `user_turns` of a task card: what the user says, by behaviour."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

from tracejury.judges.llm.criteria_types import Text
from tracejury.schemas.behaviours import Behaviour

__all__ = ["MOST_TURNS", "Behaviour", "Carries", "Turns", "UserTurns", "check_carries"]

MOST_TURNS: Final = 20

Carries = tuple[tuple[Text, ...], ...]
"""By turn, the ids of the oracle's steps that the user asks for in it."""

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


def check_carries(carries: Carries, turns: int, steps: Iterable[str]) -> None:
    """Check that each of so many turns carries steps, and each step is carried by one turn.

    Raises:
        ValueError: which turn or step is not, in one line.
    """
    if len(carries) != turns:
        raise ValueError(f"carries: {turns} turns of the user need as many entries, not {len(carries)}")
    if empty := [number for number, ids in enumerate(carries, 1) if not ids]:
        raise ValueError(f"carries: turn {empty[0]} carries no step: each asks for a part of the task")
    carried, wanted = Counter(chain(*carries)), Counter(steps)
    if unknown := [name for name in carried if name not in wanted]:
        raise ValueError(f"carries: there is no step {unknown[0]!r}")
    if odd := [name for name in wanted if carried[name] != 1]:
        raise ValueError(f"carries: the step {odd[0]!r} must be carried by one turn, not by {carried[odd[0]]}")
