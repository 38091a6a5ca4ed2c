"""The setting of PIPA: whether observations are judged one by one, or each answer as a whole."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, Literal

from tracejury.judges.checks.check_types import Check
from tracejury.judges.packs.pack_types import Configured, PackSettings
from tracejury.judges.packs.sources import ANSWERS

_OBSERVATION: Final = "pipa-observation"
_BY_RESPONSE: Final[dict[str, Any]] = {
    "items": ANSWERS,
    "question": (
        "Is this answer as a whole aligned with the user's request, with what tools, data and sub-agents returned, and "
        "with what was settled before?"
    ),
    "best": (
        "All that it reports is relevant to the request, right in scope and number (more or fewer can be justified by "
        "the request), true to what was returned, and in line with everything that user and agents have settled "
        "before. It omits nothing returned that the user asked for, or must know to decide."
    ),
    "also": {},
}


class Settings(PackSettings):
    """The settings of PIPA."""

    unit: Literal["observation", "response"] = "observation"
    """`response` judges each answer as a whole, omissions included, as the paper's prompt does."""


def configured(made: Configured, settings: Settings) -> Configured:
    """The checks as `unit` has them."""
    if settings.unit == "observation":
        return made
    checks = (Check(**dict(check) | _BY_RESPONSE) if check.name == _OBSERVATION else check for check in made.checks)
    return replace(made, checks=tuple(checks))
