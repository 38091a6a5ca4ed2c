"""The ratio of two counts of events in times of equal length."""

from __future__ import annotations

from tracejury.judges.measures.wilson import wilson
from tracejury.schemas.rates import Estimate


def count_ratio(now: int, before: int) -> Estimate | None:
    """Events now for one before, with a 95 % interval; None where there were none before.

    Given their sum, `now` is binomial with share r / (1 + r) (Przyborowski and Wilenski 1940): of that share it is
    Wilson's interval.
    """
    share = wilson(now, now + before)
    if share is None or not before:
        return None
    low, high = (end / (1 - end) for end in share)
    return Estimate(now / before, low, high)
