"""The key `notes` of a task card: what must happen in the task, as plain sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BeforeValidator, Field, StrictStr, StringConstraints

from tracejury.judges.checks.check_types import MOST_CATEGORY
from tracejury.judges.checks.questions import MOST_ITEM
from tracejury.schemas.shown import shown_line

MOST_NOTES: Final = 100


def _one_line(value: Any) -> Any:
    return " ".join(value.split()) if isinstance(value, str) else value


def _distinct(notes: Sequence[str]) -> Sequence[str]:
    """A note is the category of its error: two that begin alike would be one error."""
    numbers: dict[str, int] = {}
    for number, note in enumerate(notes, 1):
        first = numbers.setdefault(shown_line(note, MOST_CATEGORY)[: MOST_CATEGORY - 1], number)
        if first != number:
            raise ValueError(f"{first} and {number} are alike in their first {MOST_CATEGORY} characters: reword one")
    return notes


Notes = Annotated[
    tuple[Annotated[StrictStr, StringConstraints(min_length=1, max_length=MOST_ITEM), BeforeValidator(_one_line)], ...],
    Field(min_length=1, max_length=MOST_NOTES),
    AfterValidator(_distinct),
]
"""Grading notes: one subgoal each, as a call, its order, a change, or an answer."""
