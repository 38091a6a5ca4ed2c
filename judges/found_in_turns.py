"""What functions of one turn alone found in a run: kept for the turns that stay as the run grows."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class FoundInTurns:
    """What a function found in the first turns of a run, each with the position; `seen`: how many turns these are."""

    seen: int = 0
    positions: Sequence[int] = ()
    items: Sequence[Any] = ()

    def until(self, position: int) -> FoundInTurns:
        """What it found before a position."""
        end = bisect_left(self.positions, position)
        return FoundInTurns(min(self.seen, position), self.positions[:end], self.items[:end])
