"""When an attempt is repeated. Pure: randomness and time are passed in."""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from typing import Final

FIRST: Final = 1.0
LONGEST: Final = 300.0
_DOUBLINGS: Final = 10
LATEST: Final = 3_600.0
"""Seconds that a receiver may ask us to wait, at most: all its events wait with the one that it refused."""


def pause(attempts: int, share: float, asked: float | None = None) -> float:
    """Seconds to wait after the `attempts`-th failure: doubling, half of it by chance (`share` in [0, 1)).

    `asked`: what the receiver's Retry-After says; never less than that.
    """
    longest = min(FIRST * 2.0 ** min(attempts - 1, _DOUBLINGS), LONGEST)
    return max(longest * (0.5 + share / 2), asked or 0.0)


def retry_after(value: str, now: float, longest: float = LATEST) -> float | None:
    """Seconds that a Retry-After header asks for from `now` (unix seconds), `longest` at most; None: says nothing."""
    text = value.strip()
    if text.isascii() and text.isdecimal():
        return min(float(text[:12]), longest)
    try:
        moment = parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(moment - now, 0.0), longest)
