"""The chain of models as litellm's Router takes it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Final

from tracejury.schemas.errors import ConfigError

from .config import LlmConfig, ModelConfig

TOLD: Final = frozenset({"bedrock", "vertex_ai", "openrouter", "databricks", "azure_ai"})
"""Providers that, for Claude, must be told which prefix to keep, as Anthropic must; others find it themselves."""

NO_KEY: Final = "none"
KEYLESS: Final = frozenset({"bedrock", "sagemaker", "vertex_ai", "vertex_ai_beta", "ollama", "ollama_chat"})
"""Providers that also take credentials of the machine, or none: a variable that is not set says nothing."""


def group(number: int) -> str:
    """The Router's name of the model at this place of the chain."""
    return f"judge-{number}"


def place(response: Any, count: int) -> int:
    """Which model of the chain gave this response."""
    number = str(response._hidden_params.get("model_id") or "").partition("-")[2].partition("-")[0]  # noqa: SLF001  documented
    return min(int(number), count - 1) if number.isdecimal() else 0


def full_name(module: Any, asked: ModelConfig) -> str:
    """The model string with its provider: a server of one's own speaks OpenAI's protocol unless the string says other.

    Raises:
        ConfigError: litellm knows no provider of it.
    """
    try:
        module.get_llm_provider(asked.model)
    except module.BadRequestError:
        if asked.api_base:
            return f"openai/{asked.model}"
        raise ConfigError(
            f"judges.model: litellm knows no provider of {asked.model!r}: write PROVIDER/NAME with one of its providers"
        ) from None
    return asked.model


def marks_prefixes(module: Any, name: str) -> bool:
    """Whether the model's provider must be told which prefix of a prompt to keep."""
    provider = module.get_llm_provider(name)[1]
    return provider == "anthropic" or (provider in TOLD and "claude" in name.lower())


def build_router(module: Any, config: LlmConfig, names: Sequence[str]) -> Any:
    """The Router over the chain, whose full names these are.

    Raises:
        ConfigError: the variable of a key is not set.
    """
    others = [group(number) for number in range(1, len(names))]
    # The first model's fallbacks are all others, whatever it failed of.
    kinds = ("fallbacks", "context_window_fallbacks", "content_policy_fallbacks") if others else ()
    return module.Router(
        model_list=[
            _deployment(number, config, asked, name, module.get_llm_provider(name)[1])
            for number, (asked, name) in enumerate(zip(config.chain, names, strict=True))
        ],
        num_retries=config.retries,
        # What took that long once is not waited for again and again.
        retry_policy=module.types.router.RetryPolicy(TimeoutErrorRetries=min(config.retries, 1)),
        timeout=config.timeout_seconds,
        max_fallbacks=len(names),
        disable_cooldowns=not others,  # with nowhere else to go, the retries are the pause
        **{kind: [{group(0): others}] for kind in kinds},
    )


def _deployment(number: int, config: LlmConfig, asked: ModelConfig, name: str, provider: str) -> dict[str, Any]:
    params = {
        "model": name,
        "timeout": config.timeout_seconds,
        "drop_params": True,  # a model that takes no temperature is asked without
        "api_base": asked.api_base or None,
        "api_key": key_for(asked, provider),
    }
    return {
        "model_name": group(number),
        "litellm_params": {key: value for key, value in params.items() if value is not None},
        "model_info": {"id": f"{group(number)}-{id(config)}"},
    }


def missing_keys(module: Any, chain: Sequence[ModelConfig], names: Sequence[str]) -> str:
    """One line on the models whose provider's variables are not set in the environment; "" where nothing is missing.

    A server of one's own may need no key, and a variable that the configuration names is looked at by `key_for`.
    """
    found = []
    for asked, name in zip(chain, names, strict=True):
        if asked.api_key_env or asked.api_base or module.get_llm_provider(name)[1] in KEYLESS:
            continue
        missing = module.validate_environment(name)["missing_keys"]
        if missing:
            found.append(f"the environment holds no key for {asked.model} (not set: {', '.join(missing)})")
    return "; ".join(found)


def key_for(asked: ModelConfig, provider: str) -> str | None:
    """The key, None for litellm to find the provider's own.

    Raises:
        ConfigError: the variable that is named is not set.
    """
    if asked.api_key_env:
        key = os.environ.get(asked.api_key_env, "")
        if not key:
            raise ConfigError(f"judges.api_key_env: the environment variable {asked.api_key_env} is not set")
        return key
    # The client of OpenAI's protocol insists on a key; servers of one's own mostly need none.
    own = provider == "openai" and asked.api_base and not os.environ.get("OPENAI_API_KEY")
    return NO_KEY if own else None
