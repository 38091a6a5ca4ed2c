"""Reading profiles: how sure a finding must be before it is shown.

Everything is stored; a profile is only the least confidence that a reader wants to see. The numbers are set on
annotated traces (docs/detectors.md has the figures that each of them reaches).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from .errors import ConfigError

PROFILES: Final[Mapping[str, float]] = MappingProxyType({"strict": 0.60, "balanced": 0.38, "recall": 0.15})
DEFAULT_PROFILE: Final = "balanced"
CAUTIOUS_PROFILE: Final = "strict"


def threshold(profile: str) -> float:
    """The least confidence that `profile` shows: a name of PROFILES or a number in [0, 1] as text.

    Raises:
        ConfigError: neither of the two.
    """
    known = PROFILES.get(profile.strip().lower())
    if known is not None:
        return known
    try:
        number = float(profile)
    except ValueError:
        number = math.nan
    if not 0.0 <= number <= 1.0:
        names = ", ".join(PROFILES)
        raise ConfigError(f"unknown profile {profile[:40]!r}: use one of {names}, or a number from 0 to 1")
    return number
