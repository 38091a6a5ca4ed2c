"""Playing sessions from a command: tracing is set up, Ctrl-C ends the talking, and what there is is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Final

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

from tracejury.collector.judging.model.budgeted import budget_of
from tracejury.collector.judging.model.build import open_model
from tracejury.collector.judging.model.cassette import Cassette, CassetteOptions, open_cassette
from tracejury.collector.judging.model.config import LlmConfig
from tracejury.collector.otlp.client.connect import check_listening

from .callable_agent import CallableAgent
from .chat_endpoint import ChatEndpoint
from .exchange_spans import tracer_provider
from .player import PlayedSession, play
from .simulated_session import SimulatedSession
from .talking_agent import TalkingAgent, imported
from .users import SimulatedUser

_FLUSH_MS: Final = 10_000


@dataclass(frozen=True, slots=True)
class TalkSettings:
    """Where spans go, and as which service; seconds for each answer; how many sessions are played side by side.

    `user_model`: writes the messages of users with a persona; `cassette`: what it wrote before.
    """

    endpoint: str = ""
    service: str = ""
    timeout: float = 120.0
    at_once: int = 1
    user_model: LlmConfig = field(default_factory=LlmConfig)
    cassette: CassetteOptions = field(default_factory=CassetteOptions)


def agent_at(address: str, model: str = "", key: str = "") -> TalkingAgent:
    """The agent at a URL or at `module:function`. Raises ConfigError."""
    if address.startswith(("http://", "https://")):
        return ChatEndpoint(address, model, key)
    return CallableAgent(imported(address))


def talk(
    sessions: Sequence[SimulatedSession],
    agent: TalkingAgent,
    settings: TalkSettings,
    on_played: Callable[[PlayedSession], None],
) -> bool:
    """Play the sessions, and send all spans; whether Ctrl-C ended it. An agent without a tracer provider shares ours.

    Raises:
        ConfigError, RetryableError: nothing listens at the endpoint, or it is none; the user's model cannot be had.
    """
    asyncio.run(check_listening(settings.endpoint, "grpc"))
    provider = tracer_provider(settings.endpoint, settings.service)
    theirs = trace.get_tracer_provider()
    if not isinstance(theirs, TracerProvider):
        trace.set_tracer_provider(provider)

    async def played(cassette: Cassette | None) -> bool:
        tracer = provider.get_tracer("tracejury.talk")
        config = settings.user_model
        async with open_model(config, cassette=cassette, budget=budget_of(config.budget)) as model:

            def begin(session: SimulatedSession) -> SimulatedUser:
                return session.begin(model.client, config.max_answer_tokens)

            try:
                await play(
                    sessions, begin, agent, tracer, on_played, timeout=settings.timeout, at_once=settings.at_once
                )
            except asyncio.CancelledError:
                return True
        return False

    asked = settings.cassette != CassetteOptions()
    try:
        with open_cassette(settings.cassette, settings.user_model) if asked else nullcontext() as cassette:
            return asyncio.run(played(cassette))
    finally:
        if isinstance(theirs, TracerProvider):
            theirs.force_flush(_FLUSH_MS)
        provider.shutdown()
