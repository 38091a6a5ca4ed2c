"""Plays sessions: what the user says, turn by turn, and what the agent answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final

from opentelemetry.trace import Tracer

from tracejury.collector.judging.llm.run_prompts import run_jobs

from .exchange_spans import ExchangeSpan, begin_exchange, untraced
from .simulated_session import SimulatedSession
from .talking_agent import TalkingAgent, UnansweredError, sendable
from .users import SimulatedUser, UserFailedError

NOTHING_SAID: Final = "the user ended it before its first message"
USER_MODEL_FAILED: Final = "the user's model failed"
_MOST_TOLD: Final = 2_000  # characters of why an agent did not answer, or a user said nothing


@dataclass(frozen=True, slots=True)
class PlayedSession:
    """A session and how far it came. `answered`: exchanges; `failure`: why it ended early, "" where it did not.

    Its `session_id` is "" where nothing of it was sent.
    """

    session: SimulatedSession
    answered: int
    failure: str = ""


async def play(
    sessions: Iterable[SimulatedSession],
    begin: Callable[[SimulatedSession], SimulatedUser],
    agent: TalkingAgent,
    tracer: Tracer,
    on_played: Callable[[PlayedSession], None],
    *,
    timeout: float = 120.0,  # noqa: ASYNC109  of each answer, not of all
    at_once: int = 1,
) -> None:
    """Play the sessions, `at_once` of them side by side, and hand over each as it ends, cancelled ones too.

    `begin`: the user of a session; `timeout`: seconds for each answer. A session without an answer, or whose user
    fails, ends there; nothing is tried again.
    """

    async def one(session: SimulatedSession) -> None:
        await _play(session, begin(session), agent, tracer, timeout, on_played)

    await run_jobs(sessions, one, at_once)


async def _play(
    session: SimulatedSession,
    user: SimulatedUser,
    agent: TalkingAgent,
    tracer: Tracer,
    seconds: float,
    on_played: Callable[[PlayedSession], None],
) -> None:
    messages: list[dict[str, str]] = []
    exchange: ExchangeSpan | None = None
    failure, ended = "", True
    try:
        while not failure:
            with untraced():
                said = await user.next_message(messages)
            if said is None:
                failure = "" if messages else NOTHING_SAID
                break
            if exchange:
                exchange.end(session=False)
            messages.append({"role": "user", "content": said})
            exchange = begin_exchange(tracer, said, session.attributes)
            with exchange.current(session.attributes):
                failure = await _answer(messages, agent, exchange, seconds)
    except UserFailedError as error:
        failure = sendable(f"{USER_MODEL_FAILED}: {error}")[:_MOST_TOLD]
        if exchange:
            exchange.user_failed()
    except asyncio.CancelledError:
        failure, ended = "interrupted", False
        raise
    finally:
        if exchange:
            exchange.end(session=ended)
        sent = session if exchange else replace(session, session_id="")
        on_played(PlayedSession(sent, len(messages) // 2, failure))


async def _answer(messages: list[dict[str, str]], agent: TalkingAgent, exchange: ExchangeSpan, seconds: float) -> str:
    """Add the agent's answer to the messages; why there is none, "" where there is."""
    try:
        async with asyncio.timeout(seconds):
            answer = await agent.answer(messages)
    except TimeoutError:
        failure = f"no answer within {seconds:g} s"
        exchange.failed("timeout", failure)
    except Exception as error:  # noqa: BLE001  an agent may fail in any way
        named = "" if isinstance(error, UnansweredError) else f"{type(error).__name__}: "
        failure = sendable(f"{named}{error}")[:_MOST_TOLD]
        exchange.failed("no_answer", failure)
    except asyncio.CancelledError:
        exchange.failed("cancelled", "interrupted")
        raise
    else:
        exchange.answered(answer)
        messages.append({"role": "assistant", "content": answer})
        return ""
    return failure
