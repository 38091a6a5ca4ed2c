"""Plays sessions: what the user says, turn by turn, and what the agent answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from opentelemetry.trace import Tracer

from tracejury.collector.judging.llm.run_prompts import run_jobs

from .exchange_spans import exchange_span
from .simulated_session import SimulatedSession
from .talking_agent import TalkingAgent, UnansweredError, sendable

_MOST_TOLD: Final = 2_000  # characters of why an agent did not answer


@dataclass(frozen=True, slots=True)
class PlayedSession:
    """A session and how far it came. `answered`: exchanges; `failure`: why it ended early, "" where it did not."""

    session: SimulatedSession
    answered: int
    failure: str = ""


async def play(
    sessions: Iterable[SimulatedSession],
    agent: TalkingAgent,
    tracer: Tracer,
    on_played: Callable[[PlayedSession], None],
    *,
    timeout: float = 120.0,  # noqa: ASYNC109  of each answer, not of all
    at_once: int = 1,
) -> None:
    """Play the sessions, `at_once` of them side by side, and hand over each as it ends, cancelled ones too.

    `timeout`: seconds for each answer. A session without an answer ends there; nothing is tried again.
    """
    await run_jobs(sessions, lambda session: _play(session, agent, tracer, timeout, on_played), at_once)


async def _play(
    session: SimulatedSession,
    agent: TalkingAgent,
    tracer: Tracer,
    seconds: float,
    on_played: Callable[[PlayedSession], None],
) -> None:
    messages: list[dict[str, str]] = []
    answered, failure = 0, ""
    try:
        while answered < len(session.turns) and not failure:
            messages.append({"role": "user", "content": session.turns[answered]})
            with exchange_span(tracer, messages[-1]["content"], session.attributes) as span:
                try:
                    async with asyncio.timeout(seconds):
                        answer = await agent.answer(messages)
                except TimeoutError:
                    failure = f"no answer within {seconds:g} s"
                    span.failed("timeout", failure)
                except Exception as error:  # noqa: BLE001  an agent may fail in any way
                    named = "" if isinstance(error, UnansweredError) else f"{type(error).__name__}: "
                    failure = sendable(f"{named}{error}")[:_MOST_TOLD]
                    span.failed("no_answer", failure)
                except asyncio.CancelledError:
                    failure = "interrupted"
                    span.failed("cancelled", failure)
                    raise
                else:
                    span.answered(answer)
                    messages.append({"role": "assistant", "content": answer})
                    answered += 1
                if failure or answered == len(session.turns):
                    span.end_session()
    finally:
        on_played(PlayedSession(session, answered, failure))
