"""What is missing is told at the start."""

from __future__ import annotations

import pytest

from tracejury.collector.judging.model import ready
from tracejury.collector.judging.model.config import LlmConfig
from tracejury.collector.judging.model.ready import check_ready
from tracejury.schemas.errors import ConfigError


def test_a_variable_that_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the model, or of one that would be asked only later; those that are set, or not named, are fine."""
    monkeypatch.setenv("TRACEJURY_TEST_KEY", "planted")
    monkeypatch.delenv("TRACEJURY_TEST_ABSENT", raising=False)
    spare = {"model": "openai/y", "api_key_env": "TRACEJURY_TEST_ABSENT"}
    check_ready(LlmConfig(model="openai/x", api_key_env="TRACEJURY_TEST_KEY"))
    check_ready(LlmConfig(model="openai/x"))
    for config in ({"model": "openai/x", "fallbacks": [spare]}, spare):
        with pytest.raises(ConfigError, match="TRACEJURY_TEST_ABSENT is not set"):
            check_ready(LlmConfig.model_validate(config))


def test_litellm_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line says how to get it, before anything is started."""
    monkeypatch.setattr(ready, "NEEDED", "tracejury_test_absent")
    with pytest.raises(ConfigError, match=r"pip install 'tracejury\[llm\]'"):
        check_ready(LlmConfig(model="openai/x"))
