"""Asking a model once more what it has answered already."""

from __future__ import annotations

from dataclasses import replace

from ....judges.llm.client import Client, Prompt, Reply


class CacheBypassingClient:
    """Asks past the answers that are known: one of them is what a judge failed of."""

    def __init__(self, inner: Client) -> None:
        self._inner = inner

    @property
    def model(self) -> str:
        """The inner client's."""
        return self._inner.model

    async def complete(self, prompt: Prompt) -> Reply:
        """The inner client's reply or error; see `Client`."""
        return await self._inner.complete(replace(prompt, bypass_cache=True))
