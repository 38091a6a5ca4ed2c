"""Numbers in explanations."""

from __future__ import annotations

import pytest

from tracejury.judges.phrases import count, ordinal, times


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (1, "1st"),
        (2, "2nd"),
        (3, "3rd"),
        (4, "4th"),
        (11, "11th"),
        (12, "12th"),
        (13, "13th"),
        (21, "21st"),
        (102, "102nd"),
        (111, "111th"),
    ],
)
def test_ordinals_are_english(number: int, said: str) -> None:
    """The teens end like the rest of the tens."""
    assert ordinal(number) == said


def test_times_and_things_are_counted() -> None:
    """One has no plural."""
    assert [times(n) for n in (1, 2, 3)] == ["once", "twice", "3 times"]
    assert [count(n, "step") for n in (0, 1, 2)] == ["0 steps", "1 step", "2 steps"]
