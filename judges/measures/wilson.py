"""Wilson's interval of a share of independent trials: inside [0, 1], and of some width at 0 and 1, too."""

from __future__ import annotations

from math import sqrt

from tracejury.judges.bootstrap import Interval

from .distributions import deviate


def wilson(hits: int, trials: int, *, level: float = 0.95) -> Interval | None:
    """The score interval of `hits` in `trials`, without continuity correction; None without trials.

    Wilson, "Probable inference, the law of succession, and statistical inference", 1927.

    Raises:
        ValueError: not 0 <= hits <= trials.
    """
    if not 0 <= hits <= trials:
        raise ValueError(f"{hits} hits in {trials} trials")
    if not trials:
        return None
    return wilson_of(hits / trials, trials, level=level)


def wilson_of(share: float, trials: float, *, level: float = 0.95) -> Interval:
    """The score interval of a `share` in 0..1 over `trials` > 0, which need not be whole (an effective size)."""
    z = deviate(level)
    z2 = z * z
    centre = (share + z2 / (2 * trials)) / (1 + z2 / trials)
    half = z * sqrt(share * (1 - share) / trials + z2 / (4 * trials * trials)) / (1 + z2 / trials)
    # At the ends of the range the bound is exact, whatever the rounding.
    return (0.0 if share == 0 else max(0.0, centre - half)), (1.0 if share == 1 else min(1.0, centre + half))
