"""The decisive error's part of LLM judging, put together from the configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tracejury.collector.judging.llm.judge_queue import JudgeQueue
from tracejury.collector.judging.model.build import parameters
from tracejury.collector.judging.model.config import LlmConfig
from tracejury.judges.checks.how_asked import check_version
from tracejury.judges.reviews.decisive_check import DECISIVE_CHECK, DECISIVE_PROMPT_VERSION
from tracejury.schemas.decisive import DECISIVE

from .decisive_selector import DecisiveSelector


def decisive_versions(config: LlmConfig) -> dict[str, str]:
    """The judge and its version, which is of all that may change its answers; nothing where it is switched off."""
    if not config.decisive:
        return {}
    texts, sent = f"decisive {DECISIVE_PROMPT_VERSION}", parameters(config)
    version = check_version(DECISIVE_CHECK, texts, config.model, sent, max_answer_tokens=config.max_answer_tokens)
    return {DECISIVE: version}


def decisive_selectors(
    versions: Mapping[str, str], queue: JudgeQueue, clock: Callable[[], int]
) -> tuple[DecisiveSelector, ...]:
    """The selector of the judge in `versions`, if it is there; it goes behind all others."""
    return (DecisiveSelector(versions[DECISIVE], queue, clock),) if DECISIVE in versions else ()
