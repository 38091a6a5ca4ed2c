"""A call that failed and is made again at once, unchanged: whoever only repeats a mistake makes no second one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from .facts import RunFacts, TurnFacts


def retries(facts: RunFacts) -> Iterator[tuple[str, str]]:
    """Span of a turn with a failed call, and that of the next turn where the very same call fails in the same way."""
    return ((one.span_id, next_one.span_id) for one, next_one in pairwise(facts.acts) if _is_retry(one, next_one))


def _is_retry(turn: TurnFacts, following: TurnFacts) -> bool:
    one, other = turn.failed_call, following.failed_call
    if one is None or other is None or turn.failure is None or following.failure is None:
        return False
    same = (one.name, one.arguments) == (other.name, other.arguments)
    return same and turn.failure.kind is following.failure.kind
