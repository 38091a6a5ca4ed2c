"""Tokens of prompts, by litellm's tokenizer for gpt-4o."""

from __future__ import annotations

import os
from collections.abc import Sequence

import litellm

from tracejury.judges.llm.client import Prompt


def tokens(text: str) -> int:
    """Tokens of a text."""
    return int(litellm.token_counter(model="gpt-4o", text=text))


def uncached(prompts: Sequence[Prompt]) -> int:
    """Tokens that no earlier prompt of the session begins with."""
    texts = ["".join(message.text for message in prompt.messages) for prompt in prompts]
    shared = [0] * len(texts)
    for at, text in enumerate(texts):
        # These are texts, not paths.
        shared[at] = max((len(os.path.commonprefix([text, earlier])) for earlier in texts[:at]), default=0)  # noqa: RUF071
    return sum(tokens(text[length:]) for text, length in zip(texts, shared, strict=True))
