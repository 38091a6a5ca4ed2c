"""Keys that the environment lacks for the models of LLM judges."""

from __future__ import annotations

from typing import Any

import pytest

from tracejury.collector.judging.model.config import LlmConfig
from tracejury.collector.judging.model.litellm_client import LiteLlmClient


@pytest.mark.parametrize(
    ("config", "environment", "told"),
    [
        ({"model": "anthropic/x"}, {}, "no key for anthropic/x (not set: ANTHROPIC_API_KEY)"),
        ({"model": "anthropic/x"}, {"ANTHROPIC_API_KEY": "k"}, ""),
        ({"model": "anthropic/x", "api_key_env": "MINE"}, {"MINE": "k"}, ""),
        ({"model": "bedrock/anthropic.claude-v2"}, {}, ""),
        ({"model": "x", "fallbacks": ["mistral/y"]}, {}, "no key for mistral/y (not set: MISTRAL_API_KEY)"),
        ({"model": "x", "fallbacks": ["mistral/y"]}, {"MISTRAL_API_KEY": "k"}, ""),
    ],
)
async def test_a_key_that_the_environment_lacks_is_named(
    monkeypatch: pytest.MonkeyPatch, config: dict[str, Any], environment: dict[str, str], told: str
) -> None:
    """Of each model in the chain; a server of one's own may need none."""
    for name in ("ANTHROPIC_API_KEY", "MISTRAL_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    base = "http://127.0.0.1:1/v1" if config["model"] == "x" else ""
    client = LiteLlmClient(LlmConfig(**config, api_base=base))
    assert client.missing_keys == ""
    await client.prepare()
    assert client.missing_keys == (f"the environment holds {told}" if told else "")
    await client.close()
