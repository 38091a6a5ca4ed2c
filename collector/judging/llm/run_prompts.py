"""A deliberation with a client: sends its prompts, and hands the outcomes back to it."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import TypeVar

from tracejury.judges.llm.case import Outcomes
from tracejury.judges.llm.client import Client, Prompt, Reply
from tracejury.schemas.errors import TracejuryError

T = TypeVar("T")


async def run_prompts(
    deliberating: Generator[Sequence[Prompt], Outcomes, T], client: Client, *, bypass_cache: bool = False
) -> T:
    """The result of a deliberation, or of questions that follow it; the prompts of a batch are sent at once.

    Errors of ours become outcomes, and the deliberation decides what they mean. Any other error is a fault of ours: it
    cancels the batch's other calls and is raised.

    Raises:
        OverBudgetError, RetryableError: the case was not judged and can be later (see `Deliberating`).
    """
    try:
        prompts = next(deliberating)
        while True:
            asked = [replace(prompt, bypass_cache=bypass_cache) for prompt in prompts]
            prompts = deliberating.send(await _outcomes(asked, client))
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        deliberating.close()


async def _outcomes(prompts: Sequence[Prompt], client: Client) -> list[Reply | TracejuryError]:
    async with asyncio.TaskGroup() as group:
        calls = [group.create_task(_outcome(prompt, client)) for prompt in prompts]
    return [call.result() for call in calls]


async def _outcome(prompt: Prompt, client: Client) -> Reply | TracejuryError:
    try:
        return await client.complete(prompt)
    except TracejuryError as error:
        return error
