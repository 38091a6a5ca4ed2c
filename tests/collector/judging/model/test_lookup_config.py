"""`judges.lookup`: how often a judge may ask to see more."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from tracejury.collector.judging.llm.build import panel_from
from tracejury.collector.judging.llm.prompt_budget import prompt_budget
from tracejury.collector.judging.model.config import LlmConfig
from tracejury.judges.llm.second_look import MOST_CHARACTERS


@pytest.mark.parametrize(
    ("written", "rounds"), [("off", 0), ("once", 1), ("1", 1), ("2", 2), ('"3"', 3), ('"off"', 0), ("false", 0)]
)
def test_rounds(written: str, rounds: int) -> None:
    """YAML reads a plain `off` as false."""
    config = LlmConfig(model="m", lookup=yaml.safe_load(written))
    assert config.looks == rounds
    assert panel_from(config)[0].lookup == rounds
    assert LlmConfig.model_validate_json(config.model_dump_json()) == config


def test_verification_can_be_off_in_yaml_too() -> None:
    assert LlmConfig(model="m", verify=yaml.safe_load("off")).verify == "off"


@pytest.mark.parametrize("wrong", [True, 0, 4, -1, 1.5, "twice", "", None, [1], {}])
def test_anything_else_is_refused(wrong: Any) -> None:
    with pytest.raises(ValidationError, match="off, once, or a number of rounds from 1 to 3"):
        LlmConfig(model="m", lookup=wrong)


def test_judges_that_look_are_another_version() -> None:
    """Their answers may differ."""
    versions = {panel_from(LlmConfig(model="m", lookup=n))[0].version("tool-calling") for n in ("off", "once", 2, 3)}
    assert len(versions) == 4


@pytest.mark.parametrize("rounds", ["off", "once", 2, 3])
def test_looks_have_room_of_their_own(rounds: Any) -> None:
    """At most a quarter of what a transcript could have; of a large context, all that a round may show."""
    panel = panel_from(LlmConfig(model="m", lookup=rounds))[0]
    for context in (20_000, 128_000, 1_000_000):
        how = prompt_budget(panel, context, lambda text: len(text) // 4, hints=True)
        left = how.budget + how.look * panel.lookup // 3
        assert how.budget >= 0.74 * left
        assert how.look == (MOST_CHARACTERS if context > 500_000 else how.look) * bool(panel.lookup)
        assert how.look <= MOST_CHARACTERS
