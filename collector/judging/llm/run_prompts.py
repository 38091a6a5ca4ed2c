"""A deliberation with a client: sends its prompts, and hands the outcomes back to it; many of them at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from tracejury.judges.llm.case import Outcomes
from tracejury.judges.llm.client import Client, Prompt, Reply
from tracejury.schemas.errors import TracejuryError

T = TypeVar("T")
Job = TypeVar("Job")


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


async def run_jobs(jobs: Iterable[Job], do: Callable[[Job], Awaitable[T]], most: int) -> list[T]:
    """The results of all jobs, in their order; `most` are done at a time."""
    places = asyncio.Semaphore(most)

    async def one(job: Job) -> T:
        async with places:
            return await do(job)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(job)) for job in jobs]
    return [task.result() for task in tasks]


async def _outcomes(prompts: Sequence[Prompt], client: Client) -> list[Reply | TracejuryError]:
    return await run_jobs(prompts, partial(_outcome, client=client), len(prompts))


async def _outcome(prompt: Prompt, client: Client) -> Reply | TracejuryError:
    try:
        return await client.complete(prompt)
    except TracejuryError as error:
        return error
