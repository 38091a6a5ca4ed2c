"""Reading profiles: names and numbers to thresholds."""

from __future__ import annotations

import pytest

from tracejury.schemas.errors import ConfigError
from tracejury.schemas.profiles import PROFILES, threshold


def test_stricter_profiles_ask_for_more() -> None:
    """Strict shows a subset of balanced, balanced one of recall."""
    assert 0.0 < threshold("recall") < threshold("balanced") < threshold("strict") < 1.0


@pytest.mark.parametrize("name", PROFILES)
def test_names_are_read_whatever_their_case(name: str) -> None:
    """People type names as they like."""
    assert threshold(f" {name.upper()} ") == PROFILES[name]


@pytest.mark.parametrize(("text", "number"), [("0", 0.0), ("0.5", 0.5), ("1", 1.0), ("1e-3", 0.001)])
def test_a_number_is_its_own_threshold(text: str, number: float) -> None:
    """A profile may be any number from 0 to 1."""
    assert threshold(text) == number


@pytest.mark.parametrize("text", ["", "loose", "-0.01", "1.01", "nan", "inf", "-inf", "0,5"])
def test_anything_else_is_refused_with_one_clear_line(text: str) -> None:
    """The message names the choices."""
    with pytest.raises(ConfigError, match="strict, balanced, recall, or a number from 0 to 1"):
        threshold(text)
