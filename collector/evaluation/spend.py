"""Tokens and cost of an evaluation's calls."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import astuple, dataclass, replace
from operator import add

from tracejury.judges.llm.client import Client, Prompt, Reply
from tracejury.schemas.errors import TracejuryError


@dataclass(frozen=True, slots=True)
class Usage:
    """Calls that were answered, and that were not; tokens; USD of the calls with a known price (the rest: `unpriced`).

    `cached_tokens` of the `input_tokens` came from the provider's prefix cache. `known`: prompts that were answered
    before in the same run, so that nothing was sent; they are in no other figure.
    """

    calls: int = 0
    failed: int = 0
    known: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0
    unpriced: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(*map(add, astuple(self), astuple(other)))


FAILED = Usage(failed=1)
Ledger = defaultdict[str, Usage]
"""By purpose."""


def _of_reply(reply: Reply) -> Usage:
    if reply.known:
        return Usage(known=1)
    return Usage(
        calls=1,
        input_tokens=reply.input_tokens,
        cached_tokens=reply.cached_tokens,
        output_tokens=reply.output_tokens,
        usd=reply.cost or 0.0,
        unpriced=int(reply.cost is None),
    )


@dataclass(frozen=True, slots=True)
class MeteredClient:
    """Asks for one run of an evaluation, whose answers are its own, and adds up, by purpose, what that took."""

    inner: Client
    ledger: Ledger
    run: int = 0

    @property
    def model(self) -> str:
        """The inner client's."""
        return self.inner.model

    async def complete(self, prompt: Prompt) -> Reply:
        """The inner client's reply, counted; so is its failure."""
        try:
            reply = await self.inner.complete(replace(prompt, repeat=self.run))
        except TracejuryError:
            self.ledger[prompt.purpose] += FAILED
            raise
        self.ledger[prompt.purpose] += _of_reply(reply)
        return reply
