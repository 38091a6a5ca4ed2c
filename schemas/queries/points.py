"""The points in time of an answer: multiples of its step, in unix nanos."""

from __future__ import annotations

from typing import Final

from tracejury.schemas.errors import ConfigError
from tracejury.schemas.text.moments import LAST

MAX_POINTS: Final = 2000
"""Points in time of one answer."""

MOST_CELLS: Final = 20_000
"""Groups at points in time of one answer; where there would be more, fewer groups show."""


def points(since: int, until: int, step: int) -> int:
    """How many there are in [`since`, `until`); 1 without a step."""
    return (until - 1) // step - since // step + 1 if step else 1


def checked_time(since: int, until: int, step: int) -> tuple[int, int]:
    """`since` and `until`, as far as times go. Raises ConfigError where they or the step mean nothing."""
    since, until = max(since, 0), min(until, LAST)
    if since >= until:
        raise ConfigError("the time ends before it begins: until must lie after since")
    if step < 0:
        raise ConfigError("the step must be longer than nothing")
    if step > LAST:
        raise ConfigError("the step must be shorter than all time")
    if points(since, until, step) > MAX_POINTS:
        raise ConfigError(f"more than {MAX_POINTS} points in time: take a longer step")
    return since, until


def shown_groups(limit: int, since: int, until: int, step: int) -> int:
    """How many groups show of at most `limit`."""
    return min(limit, max(1, MOST_CELLS // points(since, until, step)))
