"""The version of the judge of decisive errors."""

from __future__ import annotations

from tracejury.collector.judging.model.build import parameters
from tracejury.collector.judging.model.config import LlmConfig
from tracejury.judges.checks.how_asked import check_version
from tracejury.judges.reviews.decisive_check import DECISIVE_CHECK, DECISIVE_PROMPT_VERSION
from tracejury.schemas.decisive import DECISIVE


def decisive_versions(config: LlmConfig) -> dict[str, str]:
    """The judge and its version, which is of all that may change its answers; nothing where it is switched off."""
    if not config.decisive:
        return {}
    texts, sent = f"decisive {DECISIVE_PROMPT_VERSION}", parameters(config)
    version = check_version(DECISIVE_CHECK, texts, config.model, sent, max_answer_tokens=config.max_answer_tokens)
    return {DECISIVE: version}
