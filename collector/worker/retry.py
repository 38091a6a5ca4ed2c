"""The delay before an attempt is repeated, and the Retry-After header."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final

_MAX_DOUBLINGS: Final = 60  # whoever fails for days has tried more often than a float can double


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Exponential back-off with jitter. Times are in seconds.

    `first` doubles with each attempt up to `longest`; up to half of it is left out at random, so that clients spread.
    A server's own delay counts where it is longer, up to `longest_asked`. After `tries` attempts the caller gives up.
    """

    first: float = 1.0
    longest: float = 60.0
    longest_asked: float = 300.0
    tries: int = 2**31

    def delay(self, attempt: int, asked: float = 0.0, share: float | None = None) -> float:
        """Seconds to wait after the `attempt`-th failure.

        `asked`: the delay that the server asks for; `share`: a random number in [0, 1), drawn here by default.
        """
        if share is None:
            share = random.random()  # noqa: S311  jitter
        doubled = min(self.first * 2.0 ** min(max(attempt - 1, 0), _MAX_DOUBLINGS), self.longest)
        return max(doubled * (0.5 + share / 2), min(asked, self.longest_asked))


def retry_after(header: str, now: float, longest: float) -> float | None:
    """Seconds that a Retry-After header asks for from `now` (unix seconds), at most `longest`.

    None: the header asks for nothing that can be read. Whatever it holds, the answer is finite and not negative.
    """
    try:
        seconds = float(header)
    except ValueError:
        seconds = _until(header, now)
    return None if math.isnan(seconds) or seconds < 0 else min(seconds, longest)


def _until(date: str, now: float) -> float:
    """Seconds from `now` to an HTTP date, 0 for the past; NaN where it is none."""
    try:
        moment = parsedate_to_datetime(date)
        # The zone "-0000" is parsed as none at all; HTTP dates are in UTC.
        return max((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - now, 0.0)
    except (ValueError, TypeError, OverflowError):  # the last: years and zones beyond a C integer
        return math.nan
