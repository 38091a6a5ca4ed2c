"""A model of a provider's prefix cache, as OpenAI documents it.

The longest prefix that an earlier prompt had, too, counted in blocks of 128 tokens from 1,024 tokens on. That entries
expire after some minutes is left out; so is whatever the provider keeps longer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tracejury.judges.llm.client import Prompt, PromptMessage

BLOCK: Final = 128
LEAST: Final = 1024


class PrefixCache:
    """Of one agent run; `systems`: first messages that any run has sent, shared between runs."""

    def __init__(self, count: Callable[[str], int], systems: set[str]) -> None:
        self._count, self._systems = count, systems
        self._earlier: list[tuple[PromptMessage, ...]] = []

    def cached(self, prompt: Prompt) -> int:
        """Tokens of `prompt` that the cache has; from now on it has the prompt as well."""
        messages = prompt.messages
        common = max((self._common(messages, other) for other in self._earlier), default=0)
        if messages[0].text in self._systems:
            common = max(common, self._count(messages[0].text))
        self._systems.add(messages[0].text)
        self._earlier.append(messages)
        return common // BLOCK * BLOCK if common >= LEAST else 0

    def _common(self, messages: tuple[PromptMessage, ...], other: tuple[PromptMessage, ...]) -> int:
        tokens = 0
        for one, two in zip(messages, other, strict=False):
            if one.role != two.role:
                break
            shared = _shared(one.text, two.text)
            tokens += self._count(one.text[:shared])
            if shared < max(len(one.text), len(two.text)):
                break
        return tokens


def _shared(one: str, two: str) -> int:
    """Characters that two texts begin with alike; by halving, since most are long and alike."""
    low, high = 0, min(len(one), len(two))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == two[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
