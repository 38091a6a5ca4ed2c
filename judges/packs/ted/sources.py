"""The source of items of TED: the grading notes of the task's card."""

from __future__ import annotations

from typing import Final

from tracejury.judges.checks.item_source import ItemCase, Items, ItemSource
from tracejury.schemas.checks import CheckItem


def _notes(case: ItemCase) -> Items:
    return Items(tuple(map(CheckItem, case.terms.card.notes)) if case.terms.card else ())


SOURCES: Final = (ItemSource("notes", "the task has no notes", _notes, needs="notes", outcome=True),)
"""Of this pack alone."""
