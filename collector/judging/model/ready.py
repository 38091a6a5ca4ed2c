"""Checks at the start that LLM judges can run on this machine; later they would be lines in a service's log."""

from __future__ import annotations

import importlib.util
import os
from typing import Final

from tracejury.schemas.errors import ConfigError

from .config import LlmConfig

NEEDED: Final = "litellm"


def check_ready(config: LlmConfig) -> None:
    """Imports nothing, asks nobody.

    Raises:
        ConfigError: litellm is not installed, or the variable that a model's key is to be in is not set.
    """
    if config.on and importlib.util.find_spec(NEEDED) is None:
        raise ConfigError(
            f"LLM judges need {NEEDED}: pip install 'tracejury[llm]' (or leave judges.model out: detectors need none)"
        )
    verifier = config.of_verifier
    for asked in (*config.chain, *(verifier.chain if verifier else ())):
        if asked.api_key_env and not os.environ.get(asked.api_key_env):
            raise ConfigError(f"judges.api_key_env: the environment variable {asked.api_key_env} is not set")
