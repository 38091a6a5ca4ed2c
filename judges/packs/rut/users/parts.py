"""The steps of an oracle in contiguous parts, one for each turn of the user."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, TypeVar

MOST_PARTS: Final = 3
_STEPS_A_TURN: Final = 2

Step = TypeVar("Step")


def default_turns(steps: int) -> int:
    """The number of turns for so many steps: one for every two, from 1 to 3."""
    return max(1, min(MOST_PARTS, -(-steps // _STEPS_A_TURN)))


def in_parts(steps: Sequence[Step], turns: int) -> list[Sequence[Step]]:
    """The steps in order, in `turns` contiguous parts whose sizes differ by at most one."""
    bounds = [len(steps) * number // turns for number in range(turns + 1)]
    return [steps[begin:end] for begin, end in pairwise(bounds)]
