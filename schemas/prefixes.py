"""How much of a list stayed as it was."""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_


def shared_prefix(one: Sequence[object], other: Sequence[object]) -> int:
    """How many items, from the first, are the same objects in both."""
    same = list(map(is_, one, other))
    return same.index(False) if False in same else len(same)
