"""A model put together: cassette, around answer cache, around the budget, around spans, around litellm.

In this order because a known answer costs nothing: it is given even at a cap, and it is no call, so it has no span.
What is over budget is not sent and has no span either. The span is next to litellm and covers its retries.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from opentelemetry.trace import Tracer

from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.judges.llm.budget import Budget
from tracejury.judges.llm.client import Client, Prompt, Reply
from tracejury.schemas.errors import LlmError

from .budgeted import BudgetedClient
from .cache import CachedClient
from .cassette import About, Cassette, CassetteClient, unasked
from .config import LlmConfig
from .library import LIBRARY, Library
from .litellm_client import UNKNOWN_LIMIT, LiteLlmClient
from .traced import TracedClient, close_provider, open_provider

log = logging.getLogger(__name__)


class NoModel(About):
    """Implements `Client`, and what is known of a model: nothing."""

    def count_tokens(self, text: str) -> int:
        """A guess: nobody reads it."""
        return len(text) // 4

    async def complete(self, prompt: Prompt) -> Reply:  # noqa: ARG002  see `Client`
        """See `Client`.

        Raises:
            LlmError: always.
        """
        raise LlmError("no model is named: set judges.model")


@dataclass(frozen=True, slots=True)
class Model:
    """A model that is ready. `client` is what judges are given, `llm` knows its limits and counts tokens."""

    client: Client
    llm: LiteLlmClient | About


def shows_pictures(config: LlmConfig, *, sees: bool) -> bool:
    """Whether judges are sent pictures: if they are to be, and all models take them; the log says where one does not.

    `sees`: whether the models of judges and verifier do.
    """
    if config.images and not sees:
        log.warning(
            "judges.images: litellm does not know that %s and each of judges.fallbacks and judges.verifier takes "
            "pictures, so that judges are shown marks only",
            config.model,
        )
    return config.images and sees


def parameters(config: LlmConfig) -> dict[str, Any]:
    """Settings that decide an answer beside model and prompt: part of a judge's version and of an answer's key."""
    given = {"temperature": config.temperature, "structured": config.structured, "answer": config.max_answer_tokens}
    return given | ({"reasoning_effort": config.reasoning_effort} if config.reasoning_effort else {})


def build_client(
    config: LlmConfig,
    llm: LiteLlmClient,
    *,
    answers: StoredLlmJudging | None = None,
    budget: Budget | None = None,
    tracer: Tracer | None = None,
    secret: bytes = b"",
    clock: Callable[[], int] = time.time_ns,
) -> Client:
    """`llm` in the wrappers that there is something for; `secret` marks its spans."""
    client: Client = llm
    if tracer is not None:
        client = TracedClient(client, tracer, secret)
    if budget is not None:
        spent = answers.spend if answers is not None and answers.is_shared else None
        client = BudgetedClient(client, budget, lambda: llm.price, clock, spent)
    if answers is not None:
        client = CachedClient(client, answers, parameters(config), clock)
    return client


@asynccontextmanager
async def open_model(
    config: LlmConfig,
    *,
    answers: StoredLlmJudging | None = None,
    cassette: Cassette | None = None,
    budget: Budget | None = None,
    secret: bytes = b"",
    clock: Callable[[], int] = time.time_ns,
    library: Library = LIBRARY,
) -> AsyncIterator[Model]:
    """The model of the configuration, ready, in the running event loop; closed at the end.

    `cassette`: what is on it is not asked for, and all else is recorded; without a model it must answer alone.

    Raises:
        ConfigError: what the user must mend: no litellm, no such provider, a key's variable that is not set, no model
            and no cassette with one.
    """
    if cassette is not None and (cassette.replay or cassette.prompts or not config.on):
        await library.ready()
        about, replaying = unasked(cassette, config)
        yield Model(replaying, about)
        return
    if not config.on:
        yield Model(none := NoModel("", UNKNOWN_LIMIT), none)
        return
    llm = LiteLlmClient(config, library)
    await llm.prepare()
    provider = open_provider(config.telemetry_endpoint) if config.telemetry_endpoint else None
    tracer = provider.get_tracer("tracejury") if provider else None
    client = build_client(config, llm, answers=answers, budget=budget, tracer=tracer, secret=secret, clock=clock)
    try:
        if cassette is None:
            yield Model(client, llm)
        else:
            cassette.describe(about := About(llm.model, llm.max_input_tokens, llm.sees))
            yield Model(CassetteClient(cassette, client, llm.model), about)
    finally:
        if isinstance(client, CachedClient):
            await client.flush()
        await llm.close()
        if provider is not None:
            await close_provider(provider)
