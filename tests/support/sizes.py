"""Sizes of long tests: small in `make test`, full in `make soak`."""

from __future__ import annotations

from hypothesis import settings

FULL = "soak"
"""The profile of Hypothesis that asks for full sizes: `pytest --hypothesis-profile soak`."""


def sized(small: int, full: int) -> int:
    """The size that the loaded profile asks for."""
    return full if settings.get_current_profile_name() == FULL else small
