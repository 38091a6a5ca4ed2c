"""Where a failure is read: the first later turn whose new messages hold its text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from tracejury.schemas.trajectory import Turn, TurnKind

AHEAD: Final = 3
"""Number of turns after a failure in which it may first be read."""
_KEY: Final = 60
_LEAST_KEY: Final = 8


@dataclass(frozen=True, slots=True)
class FailureReading:
    """The first reading of a failure: the turn's position in the run, the message, the offset in it."""

    position: int
    text: str
    offset: int


def first_reading(told: Iterable[str], later: Sequence[tuple[int, Turn]]) -> FailureReading | None:
    """Where one of the texts that tell a failure is read first in later turns, given with their positions."""
    keys = [key for text in told for key in _keys(text)]
    for position, turn in later:
        if turn.kind is TurnKind.INNER:
            continue
        for message in turn.new_messages:
            if message.role in ("assistant", "system"):
                continue
            at = next((at for key in keys if (at := message.text.find(key)) >= 0), -1)
            if at >= 0:
                return FailureReading(position, message.text, at)
    return None


def _keys(error: str) -> list[str]:
    """Pieces of an error's text by which it is found again: its opening, and that without the exception's type."""
    text = error.strip()
    message = text.partition(": ")[2]
    return [key for key in (text[:_KEY].strip(), message[:_KEY].strip()) if len(key) >= _LEAST_KEY]
