"""Numbers as explanations say them."""

from __future__ import annotations

from typing import Final

_ENDINGS: Final = {1: "st", 2: "nd", 3: "rd"}
_TEENS: Final = range(11, 14)
_TIMES: Final = {1: "once", 2: "twice"}


def ordinal(number: int) -> str:
    """The ordinal of a number: 1st, 2nd, 3rd, 4th, 11th, 21st."""
    ending = "th" if number % 100 in _TEENS else _ENDINGS.get(number % 10, "th")
    return f"{number}{ending}"


def times(number: int) -> str:
    """A number of times: once, twice, 3 times."""
    return _TIMES.get(number, f"{number} times")


def count(number: int, thing: str) -> str:
    """A number with its noun: 1 step, 2 steps."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
