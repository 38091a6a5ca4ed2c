"""What functions of one turn alone found in a run: kept for the turns that stay as the run grows."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class FoundInTurns:
    """What a function found in the first turns of a run, each with the position; `seen`: how many turns these are."""

    seen: int
    positions: list[int]
    items: list[Any]

    def look(self, turns: Sequence[T], find: Callable[[T], Iterable[Any]]) -> Iterable[tuple[T, Any]]:
        """All that the function finds in the turns, each with the turn; it is run on those it has not seen."""
        if self.seen < len(turns):
            new = [(at, item) for at, turn in enumerate(turns[self.seen :], self.seen) for item in find(turn)]
            self.seen = len(turns)
            if new:
                self.positions += [at for at, _ in new]
                self.items += [item for _, item in new]
        return zip(map(turns.__getitem__, self.positions), self.items, strict=True) if self.items else ()

    def until(self, position: int) -> FoundInTurns:
        """What it found before a position."""
        end = bisect_left(self.positions, position)
        return FoundInTurns(min(self.seen, position), self.positions[:end], self.items[:end])
